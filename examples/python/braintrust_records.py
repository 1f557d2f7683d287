"""spanbridge export --to braintrust-records > records.jsonl; python braintrust_records.py records.jsonl [PROJECT DATASET]"""
import inspect, json, sys

import braintrust

with open(sys.argv[1], encoding="utf-8") as lines:
    records = [json.loads(line) for line in lines]
# With a project and a data set they are inserted, which needs BRAINTRUST_API_KEY.
data_set = braintrust.init_dataset(project=sys.argv[2], name=sys.argv[3]) if len(sys.argv) > 3 else None
for record in records:
    inspect.signature(braintrust.Dataset.insert).bind(data_set, **record)
    print(f"{record['id']}: {record['input']} -> {record.get('expected')}")
    if data_set:
        data_set.insert(**record)
