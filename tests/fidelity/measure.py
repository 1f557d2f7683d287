#!/usr/bin/env python3
"""What do converters of agent spans find in the recordings? Writes the tables of src/docs/fidelity.md.

    measure.py --bin PROGRAM [--update] [-v] [CASE_DIR...]

Compared are spanbridge, the extractor of agentevals-cli, the reader of agentpile (requirements.txt has the versions; install them in the
Python that runs this), and a naive converter: the released keys of the GenAI conventions and of OpenInference, each span by itself. All
read the same OTLP/JSON. The truth of a recording is what its scripted model server and its tools saw, as far as the spans have it
(../judge/truth.py). A fact counts once: found, missed, or told although nothing of the sort happened.
"""
import argparse
import collections
import glob
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "judge"))
import truth  # noqa: E402

FACTS = ["question", "answer", "model calls", "tokens", "tool calls", "tool results"]


def text(value):
    """Words of a message, however a converter nests them."""
    if value is None:
        return ""
    if isinstance(value, str):
        opened = truth.unjson(value)
        return text(opened) if opened is not None else value
    if isinstance(value, list):
        return " ".join(filter(None, (text(item) for item in value)))
    if isinstance(value, dict):
        if "content" in value or "text" in value or "parts" in value:
            return text(value.get("content") or value.get("text") or value.get("parts"))
        return ""
    return ""


class Told:
    """What a converter tells of one trace."""

    def __init__(self):
        self.questions, self.answers, self.calls, self.tokens, self.tools, self.results = [], [], [], [], [], []


# ---------------------------------------------------------------- the converters


def spanbridge(program, files):
    with tempfile.TemporaryDirectory() as out:
        command = [program, "convert", "--to", "contextforge", "--output", out, "--losses", "/dev/null", *files]
        subprocess.run(command, capture_output=True, check=False)
        for path in Path(out).glob("*.contextforge.json"):
            document = json.loads(path.read_text())
            told = Told()
            for step in document["steps"]:
                kind = step["step_type"]
                if kind == "user_input":
                    told.questions.append(text(step.get("content")))
                elif kind == "final_output":
                    told.answers.append(text(step.get("content")))
                elif kind == "llm_call":
                    told.calls.append(text(step.get("output")))
                    told.tokens.append((step.get("tokens_in"), step.get("tokens_out")))
                elif kind == "tool_call":
                    told.tools.append((step["tool_name"], step.get("arguments")))
                    told.results.append(step.get("result"))
            yield path.name.split(".")[0], told


def agentevals(_, files):
    from agentevals.genai.extract import extract_turns
    from agentevals.loader.auto import load_traces

    for file in files:
        if ".traces." not in file:
            continue
        for trace in load_traces(file):
            told = Told()
            for turn in extract_turns(trace):
                told.questions.append(text(turn.user_input))
                told.answers.append(text(turn.final_output))
                for call in turn.llm_calls:
                    told.calls.append(text(call.output_messages))
                    told.tokens.append((call.usage and call.usage.input_tokens, call.usage and call.usage.output_tokens))
                for tool in turn.tool_calls:
                    told.tools.append((tool.name, tool.arguments))
                    told.results.append(tool.result)
            yield trace.trace_id, told


def agentpile(_, files):
    import agentpile

    for file in files:
        if ".traces." not in file:
            continue
        for run in agentpile.load(file, allow_untested_version=True):
            told = Told()
            trajectories = [run.record, *(run.record.get("subagent_trajectories") or [])]
            for step in (step for trajectory in trajectories for step in trajectory["steps"]):
                message = text(step.get("message"))
                if step["source"] == "user":
                    told.questions.append(message)
                if step["source"] != "agent":
                    continue
                told.calls.append(message)
                metrics = step.get("metrics") or {}
                told.tokens.append((metrics.get("prompt_tokens"), metrics.get("completion_tokens")))
                told.tools += [(call["function_name"], call["arguments"]) for call in step.get("tool_calls") or []]
                told.results += [item.get("content") for item in (step.get("observation") or {}).get("results", [])]
            told.answers = [call for call in told.calls if call][-1:]
            yield run.record["trajectory_id"], told


def naive(_, files):
    """Released keys only, a span at a time."""
    by_trace = collections.defaultdict(Told)
    for file in files:
        if ".traces." not in file:
            continue
        for resource in json.loads(Path(file).read_text()).get("resourceSpans", []):
            for span in (span for scope in resource.get("scopeSpans", []) for span in scope.get("spans", [])):
                told, keys = by_trace[truth.hexid(span["traceId"])], truth.attrs(span)
                operation = keys.get("gen_ai.operation.name")
                kind = keys.get("openinference.span.kind")
                if operation in ("chat", "generate_content", "text_completion") or kind == "LLM":
                    output = text(keys.get("gen_ai.output.messages")) or keys.get("llm.output_messages.0.message.content", "")
                    told.calls.append(output)
                    tokens_in = keys.get("gen_ai.usage.input_tokens", keys.get("llm.token_count.prompt"))
                    told.tokens.append((tokens_in, keys.get("gen_ai.usage.output_tokens", keys.get("llm.token_count.completion"))))
                    if output:
                        told.answers = [output]
                    asked = truth.unjson(keys.get("gen_ai.input.messages") or "") or []
                    users = [text(message) for message in asked if isinstance(message, dict) and message.get("role") == "user"]
                    number = 0
                    while f"llm.input_messages.{number}.message.role" in keys:
                        if keys[f"llm.input_messages.{number}.message.role"] == "user":
                            users.append(keys.get(f"llm.input_messages.{number}.message.content", ""))
                        number += 1
                    told.questions = told.questions or users[:1]
                if operation == "execute_tool" or kind == "TOOL":
                    name = keys.get("gen_ai.tool.name", keys.get("tool.name", span.get("name")))
                    told.tools.append((name, keys.get("gen_ai.tool.call.arguments", keys.get("input.value"))))
                    told.results.append(keys.get("gen_ai.tool.call.result", keys.get("output.value")))
    yield from by_trace.items()


CONVERTERS = {"spanbridge": spanbridge, "agentevals-cli": agentevals, "agentpile": agentpile, "naive": naive}


# ---------------------------------------------------------------- the comparison


def says(told, wanted):
    """Whether a text has these words."""
    return bool(wanted) and truth.norm(text(wanted)) in truth.norm(text(told) or str(told))


def matched(told, wanted, same):
    """How many of `wanted` are among `told`, each for one."""
    left, found = list(told), 0
    for want in wanted:
        at = next((at for at, have in enumerate(left) if same(have, want)), None)
        if at is not None:
            del left[at]
            found += 1
    return found


def same_arguments(told, wanted):
    told = truth.unjson(told) if isinstance(told, str) and truth.unjson(told) is not None else told
    if isinstance(told, dict) and isinstance(wanted, dict) and set(told) == {"input"}:
        told = truth.unjson(told["input"]) if isinstance(told["input"], str) else told["input"]
    return wanted in (None, {}) or truth.jeq(told, wanted)


def facts(case, told):
    """(fact, found, told, asked) of one trace."""
    calls = [call for call in case.calls if call.text]
    # The last message of a person counts as the question too: what a converter calls the question of a turn.
    for question in case.questions[:1]:
        yield "question", int(any(says(have, alt) for have in told.questions[:1] for alt in question["alts"])), min(1, len(told.questions)), 1
    if case.final:
        yield "answer", int(any(says(have, case.final) for have in told.answers[-1:])), min(1, len(told.answers)), 1
    yield "model calls", matched(told.calls, [call.text for call in calls], says), len(told.calls) - (len(case.calls) - len(calls)), len(calls)
    counted = [call for call in case.calls if call.tin and call.tout]
    same = lambda have, call: have[0] in call.tin and have[1] in call.tout  # noqa: E731
    told_counts = [pair for pair in told.tokens if pair[0] is not None]
    yield "tokens", matched(told_counts, counted, same), len(told_counts), len(counted)
    runs = [run for run in case.execs if run.args is not None]
    of_tool = lambda have, run: have[0] == run.name and same_arguments(have[1], run.args)  # noqa: E731
    yield "tool calls", matched(told.tools, runs, of_tool), len(told.tools), len(runs)
    results = [run.result for run in case.execs if isinstance(run.result, str) and run.result]
    yield "tool results", matched([have for have in told.results if have], results, says), len([1 for have in told.results if have]), len(results)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--update", action="store_true", help="write the tables into src/docs/fidelity.md")
    options.add_argument("-v", action="store_true")
    options.add_argument("cases", nargs="*")
    options = options.parse_args()
    folders = options.cases or sorted(glob.glob(str(ROOT / "tests/corpus/*/")))
    folders = [folder for folder in folders if (Path(folder) / "meta.json").exists()]
    sums = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0]))
    groups, read = collections.Counter(), collections.Counter()
    for folder in folders:
        case = truth.Case(folder)
        if not any(trace.asks for trace in case.traces.values()):
            continue
        is_gen_ai = "gen_ai" in case.dialect or "otel-genai" in case.dialect
        group = "GenAI conventions" if is_gen_ai else "OpenInference" if "openinference" in case.dialect else "Other dialects"
        groups[group] += 1
        files = sorted(glob.glob(str(Path(folder) / "*.traces.json"))) + sorted(glob.glob(str(Path(folder) / "*.logs.json")))
        for name, converter in CONVERTERS.items():
            try:
                told = dict(converter(options.bin, files))
            except Exception as error:  # noqa: BLE001: whatever another package raises is its answer
                told = {}
                if options.v:
                    print(f"{case.name}: {name}: {error!r}", file=sys.stderr)
            read[(group, name)] += any(one.calls or one.tools for one in told.values())
            for trace_id, trace in case.traces.items():
                for fact, found, said, asked in facts(trace, told.get(trace_id, Told())):
                    row = sums[(group, name)][fact]
                    for at, number in enumerate((found, max(said, found), asked)):
                        row[at] += number
    table = tables(sums, groups, read)
    print(table)
    if options.update:
        page = ROOT / "src/docs/fidelity.md"
        head, _, rest = page.read_text().partition("<!-- tables -->\n")
        _, _, tail = rest.partition("<!-- end of tables -->\n")
        page.write_text(f"{head}<!-- tables -->\n{table}<!-- end of tables -->\n{tail}")


def tables(sums, groups, read):
    lines = []
    for group, count in sorted(groups.items()):
        lines += [f"### {group}: {count} recordings", "", "| | recordings read | " + " | ".join(FACTS) + " | precision |"]
        lines.append("|---" * (len(FACTS) + 3) + "|")
        for name in CONVERTERS:
            rows = sums[(group, name)]
            cells = [f"{rows[fact][0] / rows[fact][2]:.0%}" if rows[fact][2] else "" for fact in FACTS]
            told = sum(rows[fact][1] for fact in FACTS)
            cells.append(f"{sum(rows[fact][0] for fact in FACTS) / told:.0%}" if told else "")
            lines.append(f"| {name} | {read[(group, name)]} | " + " | ".join(cells) + " |")
        asked = [str(sums[(group, "spanbridge")][fact][2]) for fact in FACTS]
        lines += ["| facts | | " + " | ".join(asked) + " | |", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
