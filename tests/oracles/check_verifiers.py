#!/usr/bin/env python3
"""verifiers 0.4.0 (its reader of `traces.jsonl`); where it is not installed, the rules of its records with the standard library alone.

The package is in requirements-evals.txt."""
import os, sys, tempfile
from pathlib import Path
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
try:
    import verifiers.v1
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.state import State
    from verifiers.v1.task import WireTaskData
    from verifiers.v1.trace import Trace
    from verifiers.v1.utils.trace_store import read_episodes
except ImportError:
    Trace = None

def text(x): return isinstance(x, str)
def number(x): return isinstance(x, (int, float)) and not isinstance(x, bool)
def index(x, below): return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < below

def message(m, at):
    role, content = m.get("role"), m.get("content")
    parts = isinstance(content, list) and all(p.get("type") == "text" and text(p.get("text")) or p.get("type") == "image_url" and text(p["image_url"].get("url")) for p in content)
    need(role in ("system", "user", "assistant", "tool"), f"role of node {at}")
    need(text(content) or (content is None if role == "assistant" else parts), f"content of node {at}")
    need(role != "tool" or text(m.get("tool_call_id")), f"tool_call_id of node {at}")
    for c in m.get("tool_calls") or []:
        need(text(c.get("id")) and text(c.get("name")) and text(c.get("arguments")), f"a call of node {at}")
        need(isinstance(loads(c["arguments"]), dict), f"arguments of a call of node {at}")

def rules(t):
    """What the package's types demand."""
    need(t.get("version") == 1 and text(t["task"]["type"]) and isinstance(t["task"]["data"], dict) and isinstance(t["agent"]["config"], dict), "version, task or agent")
    nodes = t["nodes"]
    for at, n in enumerate(nodes):
        need(n.get("parent") is None or index(n["parent"], at), f"parent of node {at}")
        need(n.get("parent") is None or not n.get("tools"), f"tools of node {at}, which is no root")
        need(number(n["timestamp"]) and isinstance(n["sampled"], bool), f"timestamp or sampled of node {at}")
        need(not n["sampled"] or n["message"]["role"] == "assistant", f"node {at} is sampled")
        need(len(n.get("mask", [])) == len(n.get("token_ids", [])), f"mask of node {at}")
        need(len(n.get("logprobs", [])) in (0, sum(n.get("mask", []))), f"logprobs of node {at}")
        for link in n.get("semantic_parents", []):
            need(set(link) == {"node", "type"} and index(link["node"], len(nodes)), f"link of node {at}")
        message(n["message"], at)
    for c in t["calls"]:
        need(c.get("node") is None or index(c["node"], len(nodes)) and nodes[c["node"]]["sampled"], "node of a call")
        need(c.get("finish_reason") in (None, "stop", "length", "tool_calls"), "finish_reason")
        u = c.get("usage")
        need(u is None or all(isinstance(u[k], int) for k in ("prompt_tokens", "completion_tokens")), "usage")
    need(all(number(x["score"]) and number(x["weight"]) for x in t.get("rewards", {}).values()), "rewards")
    need(all(number(x) for x in t.get("metrics", {}).values()), "metrics")
    for tool in t.get("tools", []):
        need(text(tool["name"]) and text(tool["description"]) and isinstance(tool["parameters"], dict), "tools")
    leaves = set(range(len(nodes))) - {n.get("parent") for n in nodes}
    return f"{len(nodes)} nodes, {len(leaves)} branches, {len(t['calls'])} model calls"

def check(path, flags):
    document = load(path)
    need(len(document["traces"]) == 1, "traces")
    need(text(document["task"]["type"]) and isinstance(document["task"]["data"], dict), "task of the episode")
    told = rules(document["traces"][0])
    if Trace is None:
        return told + " (standard library alone)"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "traces.jsonl"), "w", encoding="utf-8") as f:
            f.write(json.dumps(document) + "\n")
        [episode] = read_episodes(Path(folder), Trace[WireTaskData, State, WireAgentConfig])
    [trace] = episode.traces
    need(len(trace.nodes) == len(document["traces"][0]["nodes"]), "nodes are missing")
    for branch in trace.branches:
        need(len(branch.token_ids) == len(branch.sampled_mask) == len(branch.logprobs), "tokens of a branch")
    return f"{told}; the package: {trace.num_turns} turns, {trace.num_branches} branches, reward {trace.reward}"

main(check)
