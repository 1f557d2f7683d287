"""Recorded runs as aevyra AgentTraces. usage: witness_trace.py FILE

spanbridge convert --to reflex FILE... > traces.jsonl
"""
import json, sys
from aevyra_witness import AgentTrace

for line in open(sys.argv[1]):
    trace = AgentTrace.from_dict(json.loads(line))
    for node in trace.nodes:
        print(node.kind, node.name, "failed" if node.error else "ok")
