"""Recorded runs as an Inspect AI log. usage: inspect_log.py DIRECTORY

spanbridge convert --to inspect --output logs FILE...
"""
import pathlib, sys
from inspect_ai.log import read_eval_log

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.eval")):
    for sample in read_eval_log(str(path)).samples or []:
        print(sample.id, len(sample.messages), "messages,", len(sample.events), "events")
# inspect view --log-dir logs
