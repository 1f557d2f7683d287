#!/usr/bin/env python3
"""google-adk 2.13: the reader of eval sets, and what its metrics ask the cases for."""
import logging, os, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
from google.adk.evaluation.eval_case import InvocationEvents, get_all_tool_calls_with_responses, get_all_usage_metadata
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

def calls_of(invocation):
    data = invocation["intermediate_data"]
    if "tool_uses" in data:
        return data["tool_uses"]
    parts = (p for e in data["invocation_events"] for p in (e.get("content") or {}).get("parts", []))
    return [p["function_call"] for p in parts if "function_call" in p]

def check(path, flags):
    document = load(path)
    EvalSet.model_validate(document)  # its errors name the place; the file's reader hides them
    read = load_eval_set_from_file(path, document["eval_set_id"])
    need(len({c.eval_id for c in read.eval_cases}) == len(read.eval_cases), "an eval_id twice")
    invocations = calls = answered = counted = 0
    for case, source in zip(read.eval_cases, document["eval_cases"]):
        for invocation, told in zip(case.conversation, source["conversation"]):
            invocations += 1
            pairs = get_all_tool_calls_with_responses(invocation.intermediate_data)
            need([c.id for c, _ in pairs] == [c["id"] for c in calls_of(told)], "calls that ADK sees")
            need(len({c.id for c, _ in pairs}) == len(pairs), "a call id twice")
            calls += len(pairs)
            answered += sum(response is not None for _, response in pairs)
            counted += len(get_all_usage_metadata(invocation))
            if invocation.app_details:
                invocation.app_details.get_tools_by_agent_name()
            need(isinstance(invocation.intermediate_data, InvocationEvents) == ("tool_uses" not in told["intermediate_data"]), "form")
    return f"{len(read.eval_cases)} cases, {invocations} invocations, {calls} calls ({answered} answered), {counted} counts"

main(check)
