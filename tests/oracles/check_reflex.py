#!/usr/bin/env python3
"""aevyra-witness 0.1.0 (AgentTrace/TraceNode), the JSON Schema that its classes state, aevyra-origin 0.1.0 ablation."""
import os, sys, re
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
import collections, dataclasses, logging, typing, types
logging.disable(logging.CRITICAL)
import jsonschema
from aevyra_witness import AgentTrace, TraceNode
from aevyra_witness.trace import VALID_KINDS
from aevyra_origin.ablation import run_ablation

JSON_TYPES = {str: ["string"], bool: ["boolean"], int: ["integer"], float: ["number"], dict: ["object"], type(None): ["null"]}

def json_type(hint):
    """The JSON Schema of a type hint."""
    if hint is typing.Any:
        return {}
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return {"type": [t for h in typing.get_args(hint) for t in json_type(h)["type"]]}
    return {"type": JSON_TYPES[typing.get_origin(hint) or hint]}

def schema_of_the_package():
    """The published schema (https://aevyra.ai/schemas/agent-trace/v1) is in neither the wheel nor the source archive. What it
    demands stands in the installed classes: names, types, what has no default, the kinds; no other key at the top or in a node."""
    hints = typing.get_type_hints(TraceNode)
    fields = dataclasses.fields(TraceNode)
    node = {f.name: json_type(hints[f.name]) for f in fields}
    node["kind"]["enum"] = list(VALID_KINDS)
    node["tokens"]["minimum"] = 0
    none = dataclasses.MISSING
    top = {f.name for f in dataclasses.fields(AgentTrace)}
    need(top == {"nodes", "ideal", "metadata", "tokens"}, f"AgentTrace has other fields than this check knows: {sorted(top)}")
    return {
        "type": "object", "required": ["nodes"], "additionalProperties": False,
        "properties": {"nodes": {"type": "array", "items": {
            "type": "object", "required": [f.name for f in fields if f.default is none and f.default_factory is none],
            "additionalProperties": False, "properties": node}},
            "ideal": {"type": ["string", "null"]}, "metadata": {"type": "object"}}}

def check(path, flags):
    doc = load(path)
    schema = schema_of_the_package()
    d2 = dict(doc) if isinstance(doc, dict) else doc
    if isinstance(d2, dict) and "tokens" in d2:      # to_dict() writes it, the published schema forbids it
        need("--allow-tokens" in flags, "top-level 'tokens': not in the published schema (additionalProperties false); AgentTrace.from_dict fills it from the nodes (pass --allow-tokens to accept to_dict() output)")
        need(isinstance(d2["tokens"], int) and not isinstance(d2["tokens"], bool), "tokens is not an int"); d2.pop("tokens")
    err = next(iter(sorted(jsonschema.Draft202012Validator(schema).iter_errors(d2), key=lambda e: list(map(str, e.path)))), None)
    need(err is None, f"schema: {'/'.join(map(str, err.path)) if err else ''}: {err.message[:200] if err else ''}")
    t = AgentTrace.from_dict(doc)                     # the real loader (aevyra-origin CLI uses it: cli.py:263)
    t2 = AgentTrace.from_json(t.to_json()); need(t2 == t, "to_json/from_json round trip differs")
    ids = [n.id for n in t.nodes]
    dup = [i for i, c in collections.Counter(ids).items() if c > 1]
    need(not dup, f"duplicate ids {dup[:3]}")
    s = set(ids)
    for n in t.nodes:
        need(n.parent_id is None or n.parent_id in s, f"{n.id}: parent_id {n.parent_id!r} is no node: to_trace_text() would drop it and all below it")
        for k, v in (("started_at", n.started_at), ("ended_at", n.ended_at)):
            need(v is None or 0 < v < 1e11, f"{n.id}.{k}={v}: not Unix seconds")
        need(n.started_at is None or n.ended_at is None or n.ended_at >= n.started_at, f"{n.id}: ended_at < started_at")
        need(n.kind in VALID_KINDS, f"{n.id}: kind {n.kind!r}")
        need(not (n.optimize and not n.prompt_id), f"{n.id}: optimize without prompt_id: optimize_prompt_ids ignores it")
        need(n.prompt_id != "" and n.error != "", f"{n.id}: empty prompt_id/error: use null")
        for k in ("mcp_server", "tool_call_id", "error_code"):
            need(k not in n.metadata or isinstance(n.metadata[k], str), f"{n.id}: metadata.{k} is not a string")
        need("latency_ms" not in n.metadata or isinstance(n.metadata["latency_ms"], (int, float)), f"{n.id}: metadata.latency_ms is not a number")
    st = [n.started_at for n in t.nodes if n.started_at is not None]
    need(st == sorted(st), "nodes are not in execution order (started_at)")
    need(len(t.optimize_prompt_ids) <= 1, f"more than one optimize prompt_id {t.optimize_prompt_ids}: 'in a well-formed trace this list has length <= 1' (trace.py)")
    by = collections.defaultdict(set)
    for n in t.nodes:
        if n.prompt_id: by[n.prompt_id].add(n.optimize)
    need(all(len(v) == 1 for v in by.values()), "a prompt_id has optimize=true on some spans and false on others")
    txt = t.to_trace_text()
    heads = re.findall(r"^ *Node [0-9.]+ — ", txt, re.M)
    need(len(heads) >= len(t.nodes), f"to_trace_text() shows {len(heads)} of {len(t.nodes)} nodes (cycle or orphan)")
    rec = t.to_dataset_record(); need(rec["messages"][0]["content"] == txt, "to_dataset_record")
    ab = ""
    if t.nodes:
        seen = []
        def runner(tr, forced):
            seen.append(forced); c = AgentTrace.from_dict(tr.to_dict())
            for n in c.nodes:
                if n.id in forced: n.output = forced[n.id]
            return c
        r = run_ablation(trace=t, score=0.5, runner=runner, judge=lambda tr: 0.4, placeholder="ideal" if t.ideal is not None else "null")
        need(r["num_effects"] == len(t.nodes), "ablation did not reach every span")
        ab = f" ablation={r['placeholder']}:{r['num_effects']}"
    k = collections.Counter(n.kind for n in t.nodes)
    return f"aevyra-witness 0.1.0: nodes={len(t.nodes)} {dict(k)} roots={len(t.roots)} tokens={t.tokens} errors={sum(1 for n in t.nodes if n.error)}{ab}"

main(check)
