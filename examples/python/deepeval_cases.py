"""Recorded runs as DeepEval test cases. usage: deepeval_cases.py FILE

spanbridge convert --to deepeval FILE... > cases.jsonl
"""
import json, sys
from deepeval.test_case import LLMTestCase, ToolCall

for line in open(sys.argv[1]):
    read = json.loads(line)
    for case in read if isinstance(read, list) else [read]:
        tools = [ToolCall(name=tool["name"], input_parameters=tool.get("input_parameters")) for tool in case.get("tools_called") or []]
        test = LLMTestCase(input=case["input"], actual_output=case["actual_output"], tools_called=tools)
        print(test.input, "->", test.actual_output, [tool.name for tool in test.tools_called])
# deepeval: evaluate([test], [AnswerRelevancyMetric()])
