"""spanbridge export --to langfuse-items --option langfuse-items.dataset=NAME > items.jsonl; python langfuse_items.py items.jsonl [send]"""
import json, re, sys

from langfuse import Langfuse

with open(sys.argv[1], encoding="utf-8") as lines:
    items = [json.loads(line) for line in lines]
for item in items:
    words = {re.sub("(?=[A-Z])", "_", key).lower(): value for key, value in item.items()}
    print(f"{words['dataset_name']}: {words['input']} -> {words.get('expected_output')}")
    if "send" in sys.argv[2:]:  # needs LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY, and the data set
        Langfuse().create_dataset_item(**words)
