"""spanbridge export --to langsmith-examples > examples.jsonl; python langsmith_examples.py examples.jsonl [DATASET]"""
import json, sys

from langsmith import Client
from langsmith.schemas import ExampleCreate

with open(sys.argv[1], encoding="utf-8") as lines:
    examples = [json.loads(line) for line in lines]
for example in map(lambda example: ExampleCreate(**example), examples):
    print(f"{example.id}: {example.inputs['input']}")
if len(sys.argv) > 2:  # needs LANGSMITH_API_KEY
    Client().create_examples(dataset_name=sys.argv[2], examples=examples)
