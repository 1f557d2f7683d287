#!/usr/bin/env python3
"""Does spanbridge tell agentevals' fixtures as their truth files say?

    check.py --bin PROGRAM [--fixtures DIR] [--min N] [-v]

The fixtures (recordings of Google ADK and kagent, hand-built traces, exports of Jaeger and Tempo, each with a *.truth.json) are in the
source package of agentevals-cli on PyPI. It is fetched with pip, unless --fixtures names the folder tests/fixtures/otlp; where it cannot
be had, this says so and passes. Standard library only.

Each trace is a turn. Compared are, a turn: the user's text, the final text, texts on the way, the tools with arguments, results and
failures, the tokens, the number of model calls, the agents; and the session. What a truth file leaves out is not compared.
Fixtures in known.tsv differ for the reason that stands there; one that is right, or is not there, must not be in it.
Exit status: 1 when fewer than --min fixtures are right or known, or known.tsv is stale.
"""
import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

VERSION = "0.11.0"
HERE = Path(__file__).resolve().parent


def fetch(folder):
    """The fixtures of the source package, or why they cannot be had."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "agentevals-cli", "--dest", folder]
    got = subprocess.run([*command, f"agentevals-cli=={VERSION}"], capture_output=True, text=True)
    packages = list(Path(folder).glob("agentevals_cli-*.tar.gz"))
    if got.returncode or not packages:
        return None, got.stderr.strip().splitlines()[-1:] or ["no source package"]
    with tarfile.open(packages[0]) as package:
        package.extractall(folder, filter="data")
    return next(Path(folder).glob("*/tests/fixtures/otlp")), None


def opened(value):
    """As agentevals compares values: JSON text opened, ADK's {"result": x} unwrapped, nothing for empty ones."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, dict) and set(value) == {"result"}:
        return opened(value["result"]) if isinstance(value["result"], str) else value["result"]
    if isinstance(value, dict) and isinstance(value.get("content"), list) and all(item.get("type") == "text" for item in value["content"]):
        # An MCP tool's result, which documents have as text.
        return opened("\n".join(item["text"] for item in value["content"]))
    return None if value in ({}, "", []) else value


def text(value):
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, sort_keys=True)).strip() or None


def words(output):
    """The words of a model call's output."""
    if isinstance(output, list):
        return [word for item in output for word in words(item)]
    if isinstance(output, dict):
        content = output.get("content")
        return words(content) if not isinstance(content, str) else [content]
    return [output] if isinstance(output, str) and output else []


def turn(document):
    """What a ContextForge document says of its trace."""
    steps = document["steps"]
    calls = [step for step in steps if step["step_type"] == "llm_call"]
    tools = [step for step in steps if step["step_type"] == "tool_call"]

    def only(kind):
        return next((step.get("content") for step in steps if step["step_type"] == kind), None)

    agents = {document.get("agent_info", {}).get("name")} | {agent["name"] for agent in document["metadata"].get("agents", []) if "name" in agent}
    agents |= {step["metadata"]["agent"] for step in steps if step.get("metadata", {}).get("agent")}
    return {
        "user": text(only("user_input")),
        "final": text(only("final_output")),
        "said": [text(word) for call in calls for word in words(call.get("output"))],
        "agents": agents - {None},
        "tools": [
            (tool["tool_name"], opened(tool.get("arguments")), opened(tool.get("result")), not tool.get("success", True)) for tool in tools
        ],
        "tokens": (sum(call.get("tokens_in") or 0 for call in calls), sum(call.get("tokens_out") or 0 for call in calls)),
        "llm_calls": len(calls),
        "session": document["metadata"].get("session_id"),
        "evaluations": sum(step.get("metadata", {}).get("kind") == "evaluation" for step in steps),
    }


def turns(program, fixture):
    with tempfile.TemporaryDirectory() as out:
        command = [program, "convert", "--to", "contextforge", "--output", out, "--losses", "/dev/null", str(fixture)]
        got = subprocess.run(command, capture_output=True, text=True)
        documents = [json.loads(path.read_text()) for path in Path(out).glob("*.contextforge.json")]
    if not documents:
        raise ValueError(f"no document: {got.stderr.strip()[:200]}")
    return [turn(document) for document in sorted(documents, key=lambda document: document["started_at"])]


def tool(call):
    arguments, result = opened(call["args"]), opened(call["result"])
    return (call["name"], arguments, result, bool(call["is_error"]))


def same_tools(have, want):
    """The same tools in any order: parallel ones end in any. A failure's text may stand in the error or in the result."""
    left = list(have)
    for name, arguments, result, failed in want:
        fits = (
            at
            for at, (of, with_arguments, gave, has_failed) in enumerate(left)
            if of == name
            and (arguments is None or with_arguments == arguments)
            and (result is None or gave == result or failed)
            and has_failed == failed
        )
        found = next(fits, None)
        if found is None:
            return False
        del left[found]
    return not left


def differences(truth, have):
    want = truth["turns"]
    if truth.get("extra_turns_allowed"):
        users = {text(turn["user_text"]) for turn in want}
        have = [turn for turn in have if turn["user"] in users]
    if len(have) != len(want):
        yield f"{len(have)} turns for {len(want)}"
        return
    for number, (got, turn) in enumerate(zip(have, want), 1):
        pairs = [
            ("user", got["user"], text(turn["user_text"])),
            ("final", got["final"], text(turn["final_text"])),
        ]
        if turn.get("tokens"):
            pairs.append(("tokens", got["tokens"], (turn["tokens"]["input"], turn["tokens"]["output"])))
        if turn.get("llm_calls") is not None:
            pairs.append(("llm_calls", got["llm_calls"], turn["llm_calls"]))
        for field, is_, should in pairs:
            if is_ != should:
                yield f"turn {number}: {field}: {is_!r} for {should!r}"
        missing = set(turn["agents"]) - got["agents"]
        if missing:
            yield f"turn {number}: agents: {sorted(got['agents'])} for {turn['agents']}"
        calls = [tool(call) for call in turn["tool_calls"]]
        if not same_tools(got["tools"], calls):
            yield f"turn {number}: tools: {got['tools']} for {calls}"
        lost = Counter(map(text, turn["intermediate_texts"])) - Counter(got["said"])
        if lost:
            yield f"turn {number}: said on the way: {got['said']} without {list(lost)}"
    key = truth.get("session_key")
    if key and key["kind"] in ("conversation", "session_id"):
        sessions = {turn["session"] for turn in have}
        if sessions != {key["value"]}:
            yield f"session: {sessions} for {key['value']!r}"


def known():
    rows = (line.split("\t") for line in (HERE / "known.tsv").read_text().splitlines() if line and not line.startswith("#"))
    return {name: reason for name, reason in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--fixtures", type=Path)
    parser.add_argument("--min", type=int, default=165)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    fixtures, why = (options.fixtures, None) if options.fixtures else fetch(folder.name)
    if fixtures is None:
        print(f"did not run: agentevals-cli {VERSION} cannot be fetched: {why[0]}")
        return 0
    reasons = known()
    right, differ = set(), {}
    for path in sorted(fixtures.rglob("*.truth.json")):
        name = str(path.relative_to(fixtures)).removesuffix(".truth.json")
        try:
            found = list(differences(json.loads(path.read_text()), turns(options.bin, path.with_name(path.name.replace(".truth", "")))))
        except (ValueError, KeyError) as error:
            found = [str(error)]
        if found:
            differ[name] = found
        else:
            right.add(name)
    for name, found in differ.items():
        if options.verbose or name not in reasons:
            print(f"{name}: {reasons.get(name, 'UNKNOWN')}")
            print("\n".join(f"  {line[:300]}" for line in found))
    stale = sorted(set(reasons) - set(differ))
    for name in stale:
        print(f"{name}: is right, and stands in known.tsv")
    named = len(differ.keys() & reasons.keys())
    print(f"{len(right)} fixtures right, {named} known to differ, {len(differ) - named} differ")
    return int(len(right) + named < options.min or bool(stale))


if __name__ == "__main__":
    sys.exit(main())
