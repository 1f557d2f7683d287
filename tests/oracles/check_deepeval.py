#!/usr/bin/env python3
"""DeepEval 4.3: the dataset readers for JSON lists and for JSONL."""
import os, sys, tempfile
os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
os.environ.setdefault("DEEPEVAL_DISABLE_DOTENV", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
import json
from deepeval.dataset import EvaluationDataset
from deepeval.test_case import ConversationalTestCase

def written(cases, ending):
    with tempfile.NamedTemporaryFile("w", suffix=ending, delete=False, encoding="utf-8") as file:
        file.write(json.dumps(cases) if ending == ".json" else "".join(json.dumps(case) + "\n" for case in cases))
    return file.name

def same(case, read):
    need(read.input == case["input"] and read.actual_output == case["actual_output"], "input and output")
    need([c.name for c in read.tools_called or []] == [c["name"] for c in case["tools_called"]], "names of calls")
    for call, got in zip(case["tools_called"], read.tools_called or []):
        need(got.input_parameters == call["input_parameters"], f"arguments of {call['name']}")
        need(got.output == call.get("output"), f"output of {call['name']}")
    need((read.retrieval_context or []) == case.get("retrieval_context", []), "retrieval_context")

def check(path, flags):
    document = load(path)
    cases = document if isinstance(document, list) else [document]
    names = [written(cases, ending) for ending in (".json", ".jsonl")]
    try:
        goldens = EvaluationDataset()
        goldens.add_goldens_from_jsonl_file(names[1])
        need(len(goldens.goldens) == len(cases), f"{len(goldens.goldens)} goldens")
        if "turns" in cases[0]:
            for case, golden in zip(cases, goldens.goldens):
                need(len(golden.turns) == len(case["turns"]), "turns")
                ConversationalTestCase(scenario=golden.scenario, turns=golden.turns)
            return f"{len(cases)} conversations, {sum(len(g.turns) for g in goldens.goldens)} turns"
        tests = EvaluationDataset()
        tests.add_test_cases_from_json_file(names[0], "input", "actual_output", tools_called_key_name="tools_called",
                                            retrieval_context_key_name="retrieval_context")
        for case, golden, test in zip(cases, goldens.goldens, tests.test_cases):
            same(case, golden)
            same(case, test)
            need(golden.additional_metadata == case["additional_metadata"], "additional_metadata")
        return f"{len(cases)} cases, {sum(len(t.tools_called) for t in tests.test_cases)} calls"
    finally:
        for name in names:
            os.unlink(name)

main(check)
