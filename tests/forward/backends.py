#!/usr/bin/env python3
"""Every recorded payload through the bridge into a real Phoenix and a real Jaeger, and what they hold then.

    tests/forward/backends.py --bin target/debug/spanbridge [--phoenix .venv-phoenix/bin/phoenix] [--jaeger jaeger]

Phoenix is `arize-phoenix` of PyPI; Jaeger is `cmd/jaeger` of its Go module v1.76.0. One that is not given is said and left out.
The backends come up after everything was sent. Held: Jaeger returns every span of every trace with its parent. Phoenix has every span
once, and shows of each model call and tool what the bridge's own documents tell and the span says: kind, model, tokens, messages, tool calls,
the tool's name, arguments and result. Then both lose spans, and have all again, once, after `forward rewind`.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPEN = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
JAEGER = """
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines: {{traces: {{receivers: [otlp], exporters: [jaeger_storage_exporter]}}}}
  telemetry: {{metrics: {{level: none}}}}
extensions:
  jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 100000}}}}}}}}
  jaeger_query: {{storage: {{traces: memory}}, http: {{endpoint: "127.0.0.1:{http}"}}, grpc: {{endpoint: "127.0.0.1:{grpc}"}}}}
receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{otlp}"}}}}}}}}
exporters: {{jaeger_storage_exporter: {{trace_storage: memory}}}}
"""


# Of nodes in Reflex documents, the kinds of spans in OpenInference.
KINDS = {"reason": "LLM", "tool": "TOOL", "agent": "AGENT", "retrieve": "RETRIEVER"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, holds, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.3)
    sys.exit(f"never: {what}")


def answers(url):
    return lambda: OPEN(url, timeout=5).status == 200


def send(base):
    for case in sorted(ROOT.glob("tests/corpus/*/meta.json")):
        for body in sorted(case.parent.glob("*.bin")):
            signal = next((s for s in ("traces", "logs") if f".{s}." in body.name), None)
            if signal is None:
                continue
            said = json.loads(body.with_name(body.name[:-4] + ".headers.json").read_text())
            headers = {k: v for k, v in said.items() if k.lower() in ("content-type", "content-encoding") and v}
            if "grpc" in headers.get("content-type", ""):
                headers = {"content-type": "application/x-protobuf"}
            OPEN(urllib.request.Request(f"{base}/v1/{signal}", body.read_bytes(), headers), timeout=30).read()


def flat(value):
    """A list that stands in keys 0, 1, 2."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value, key=int)]
    return value or []


def at(attributes, path):
    """The value of an attribute. Phoenix nests keys by their dots, as far as no attribute has the first words of another one's key."""
    if not isinstance(attributes, dict):
        return None
    if path in attributes:
        return attributes[path]
    words = path.split(".")
    found = (at(attributes[".".join(words[:n])], ".".join(words[n:])) for n in range(1, len(words)) if ".".join(words[:n]) in attributes)
    return next((value for value in found if value is not None), None)


def shown(kind, attributes):
    """What Phoenix shows of a span."""
    llm = at(attributes, "llm") or {}
    count = llm.get("token_count") or {}
    calls = [call.get("tool_call") or {} for message in flat(llm.get("output_messages"))
             for call in flat((message.get("message") or {}).get("tool_calls"))]
    return {
        "kind": kind,
        "model": llm.get("model_name"),
        "input tokens": count.get("prompt"),
        "output tokens": count.get("completion"),
        "input messages": bool(llm.get("input_messages") or llm.get("prompts")),
        "output messages": bool(llm.get("output_messages") or llm.get("choices")),
        "tool calls": sorted((call.get("id") or "", (call.get("function") or {}).get("name") or "") for call in calls),
        "tool": at(attributes, "tool.name"),
        "input": at(attributes, "input.value") is not None,
        "output": at(attributes, "output.value") is not None,
    }


def phoenix_faults(database, traces):
    rows = sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute(
        "SELECT t.trace_id, s.span_id, s.span_kind, s.attributes FROM spans s JOIN traces t ON s.trace_rowid = t.id").fetchall()
    held = collections.defaultdict(dict)
    for trace, span, kind, attributes in rows:
        held[trace][span] = shown(kind, json.loads(attributes))
    faults, asked = [], collections.Counter()
    for trace in traces:
        have = held[trace["trace_id"]]
        if len(have) != trace["distinct_spans"]:
            faults.append(f"phoenix: trace {trace['trace_id']} has {len(have)} of {trace['distinct_spans']} spans")
        for span, wanted in trace["told"].items():
            for name, value in wanted.items():
                found = have.get(span, {}).get(name)
                asked[name] += 1
                if found != value:
                    faults.append(f"phoenix: {trace['trace_id']}/{span} {trace['service']}: {name} is {found!r}, not {value!r}")
    print(f"phoenix: {len(rows)} spans; asked and compared: {dict(asked)}")
    assert asked["model"] > 200 and asked["tool"] > 200 and asked["tool calls"] > 100, "the documents are not read as they are written"
    return faults


def jaeger_faults(url, traces):
    faults, spans, parents = [], 0, 0
    for trace in traces:
        found = json.load(OPEN(f"{url}/api/traces/{trace['trace_id']}", timeout=30))["data"]
        have = {span["spanID"]: span for item in found for span in item["spans"]}
        spans += len(have)
        parents += sum(1 for span in have.values() if span["references"])
        if len(have) != trace["distinct_spans"]:
            faults.append(f"jaeger: trace {trace['trace_id']} has {len(have)} of {trace['distinct_spans']} spans")
        for span, parent in trace["children"].items():
            named = [reference["spanID"] for reference in have.get(span, {"references": []})["references"]]
            if span in have and parent not in named:
                faults.append(f"jaeger: span {span} has the parents {named}, not {parent}")
    print(f"jaeger: {spans} spans, {parents} with a parent")
    return faults


def words(value):
    """A text as it may stand inside of other texts: without white space, quotes and backslashes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return re.sub(r"[\s\"'\\\\]", "", text)


# What the span of a scope has and Phoenix does not show, and why.
NOT_SHOWN = {
    "@mastra/otel-exporter": {"model", "input tokens", "output tokens"},  # they stand in an HTTP body that a span keeps as metadata
    "genkit-tracer": {"output"},  # a tool's output that no dialect calls its result is not written as one
    "judgeval": {"output"},  # the same
    "ax": {"output"},  # the same
}


class Said:
    """What a span says itself, with its log records: a document also tells what other spans say of it, which no backend is sent."""

    def __init__(self, scope, span, records):
        self.scope = scope
        self.text = words([span, records])
        self.keys = {attribute["key"]: attribute["value"].get("stringValue") for attribute in span.get("attributes", [])}

    def has(self, value):
        return words(value) in self.text

    def counts(self, number):
        return re.search(rf"(?i)token[a-z_.]*(,value:{{\w+:|:){number}(?![0-9])", self.text) is not None

    def is_free(self, key):
        """No attribute has this key, or belongs to the list of this key: those that a span has stay, whatever they say."""
        return not any(own == key or own.startswith(key + ".") for own in self.keys)

    def is_kind(self, kind):
        return self.keys.get("openinference.span.kind", kind) == kind


def told(server, trace, spans):
    """What the bridge's own documents tell of the spans of a trace, as far as the spans say it: kinds, model calls, tools."""
    documents = lambda name: (lambda found: found if isinstance(found, list) else [found])(
        json.load(OPEN(f"{server}/api/v1/traces/{trace}/{name}", timeout=30)))
    wanted = collections.defaultdict(dict)
    for node in (node for document in documents("reflex") for node in document["nodes"]):
        kind, said = KINDS.get(node["kind"]), spans.get(node["id"])
        if not kind or not said or not said.is_kind(kind):
            continue
        wanted[node["id"]]["kind"] = kind
        if kind == "TOOL":
            of_tool = {"tool": ("tool.name", node["name"], node["name"]), "input": ("input.value", node["input"], True),
                       "output": ("output.value", node["output"], True)}
            wanted[node["id"]].update({name: value for name, (key, content, value) in of_tool.items()
                                       if content is not None and said.has(content) and said.is_free(key)})
            # The document tells the error where there is no output.
            if node["error"]:
                wanted[node["id"]].pop("output", None)
    steps = (step for document in documents("synth") for step in document["session_time_steps"])
    for event in (event for step in steps for event in step["events"]):
        for record in event.get("call_records") or []:
            said = spans.get(record["span_id"])
            if not said or not said.is_kind("LLM"):
                continue
            ask = wanted[record["span_id"]]
            if event["model_name"] and said.has(event["model_name"]) and said.is_free("llm.model_name"):
                ask["model"] = event["model_name"]
            for name, key, count in (("input tokens", "prompt", event["input_tokens"]), ("output tokens", "completion", event["output_tokens"])):
                if count and said.counts(count) and said.is_free(f"llm.token_count.{key}"):
                    ask[name] = count
            texts = [part["text"] for message in record["input_messages"] for part in message["parts"] if part["text"]]
            if texts and said.is_free("llm.input_messages") and all(said.has(text) for text in texts):
                ask["input messages"] = True
            calls = [(call["call_id"] or "", call["name"]) for call in record["output_tool_calls"]]
            answered = record["output_text"] and said.has(record["output_text"])
            if said.is_free("llm.output_messages") and (answered or calls and all(said.has(name) and said.has(id) for id, name in calls)):
                ask["output messages"] = True
                if calls and all(said.has(name) and said.has(id) for id, name in calls):
                    ask["tool calls"] = sorted(calls)
    for id, ask in wanted.items():
        for name in NOT_SHOWN.get(spans[id].scope, ()):
            ask.pop(name, None)
    return wanted


def stored(program, server):
    """The traces of the bridge: how many spans each has, which have a parent, and what documents tell of them."""
    out = subprocess.run([program, "ls", "--json", "--limit", "5000", "--server", server], capture_output=True, text=True, check=True).stdout
    traces = [json.loads(line) for line in out.splitlines()]
    for trace in traces:
        raw = json.load(OPEN(f"{server}/api/v1/traces/{trace['trace_id']}", timeout=30))
        groups = [group for resource in raw["resourceSpans"] for group in resource["scopeSpans"]]
        spans = [span for group in groups for span in group["spans"]]
        scopes = {span["spanId"]: group.get("scope", {}).get("name") for group in groups for span in group["spans"]}
        groups = [records["logRecords"] for resource in raw.get("resourceLogs", []) for records in resource["scopeLogs"]]
        records = collections.defaultdict(list)
        for record in (record for group in groups for record in group):
            records[record.get("spanId")].append(record)
        own = {span["spanId"]: Said(scopes[span["spanId"]], span, records[span["spanId"]]) for span in spans}
        trace["distinct_spans"] = len(own)
        trace["children"] = {span["spanId"]: span["parentSpanId"] for span in spans if span.get("parentSpanId")}
        trace["told"] = told(server, trace["trace_id"], own) if trace["agent_work"] else {}
    return traces


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--phoenix")
    arguments.add_argument("--jaeger")
    arguments.add_argument("--keep", help="a folder for the logs and the databases, which are removed otherwise")
    given = arguments.parse_args()
    running = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(given.keep or folder)
        folder.mkdir(exist_ok=True)
        log = (folder / "log").open("w")

        def start(name, command, **variables):
            environment = {**os.environ, "HOME": str(folder), **variables}
            running[name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

        ports = {name: free_port() for name in ("phoenix", "phoenix_grpc", "query", "query_grpc", "jaeger", "http", "api")}
        present = [name for name in ("phoenix", "jaeger") if getattr(given, name) and os.path.exists(getattr(given, name))]
        for name in ("phoenix", "jaeger"):
            if name not in present:
                print(f"{name}: did not run: no program given")
        if not present:
            return 0

        def start_backends():
            if "phoenix" in present:
                start("phoenix", [given.phoenix, "serve"], PHOENIX_HOST="127.0.0.1", PHOENIX_PORT=str(ports["phoenix"]),
                      PHOENIX_GRPC_PORT=str(ports["phoenix_grpc"]), PHOENIX_WORKING_DIR=str(folder / "phoenix"),
                      PHOENIX_TELEMETRY_ENABLED="false")
            if "jaeger" in present:
                config = JAEGER.format(http=ports["query"], grpc=ports["query_grpc"], otlp=ports["jaeger"])
                (folder / "jaeger.yaml").write_text(config)
                start("jaeger", [given.jaeger, "--config", str(folder / "jaeger.yaml")])
            if "phoenix" in present:
                until("phoenix is up", answers(f"http://127.0.0.1:{ports['phoenix']}/healthz"), 300)
            if "jaeger" in present:
                until("jaeger is up", answers(f"http://127.0.0.1:{ports['query']}/api/services"))

        database = folder / "phoenix" / "phoenix.db"
        server = f"http://127.0.0.1:{ports['api']}"

        def metrics(name):
            text = OPEN(f"{server}/metrics", timeout=30).read().decode()
            return [int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{exporter=")]

        def count():
            return sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute("SELECT count(*) FROM spans").fetchone()[0]

        def faults_now(traces):
            faults = []
            if "phoenix" in present:
                expected = sum(trace["distinct_spans"] for trace in traces)
                until(f"phoenix has {expected} spans", lambda: count() >= expected)
                faults += phoenix_faults(database, traces)
            if "jaeger" in present:
                faults += jaeger_faults(f"http://127.0.0.1:{ports['query']}", traces)
            return faults

        try:
            # The port says nothing of the protocol here.
            (folder / "spanbridge.toml").write_text("".join(
                f'[[forward]]\npreset = "{name}"\nurl = "http://127.0.0.1:{ports[name]}"\nmax_backoff_seconds = 2\n'
                + ('protocol = "grpc"\n' if name == "jaeger" else "") for name in present))
            start("spanbridge", [given.bin, "serve", "--config", str(folder / "spanbridge.toml"), "--data-dir", str(folder / "data"),
                                 "--otlp-grpc", "127.0.0.1:0", "--otlp-http", f"127.0.0.1:{ports['http']}",
                                 "--http", f"127.0.0.1:{ports['api']}"])
            until("the bridge is up", answers(f"{server}/healthz"))
            # The backends come up after everything was sent.
            send(f"http://127.0.0.1:{ports['http']}")
            until("both are down", lambda: all(retries > 0 for retries in metrics("spanbridge_forward_retries_total")))
            start_backends()
            until("all is sent", lambda: set(metrics("otelcol_exporter_queue_size")) == {0}, 600)
            sent = metrics("otelcol_exporter_sent_spans")
            print(f"sent {sent}, failed {metrics('otelcol_exporter_send_failed_spans')}, "
                  f"log records left out {metrics('spanbridge_forward_left_out_log_records_total')}")
            traces = stored(given.bin, server)
            (folder / "told.json").write_text(json.dumps(traces))
            faults = faults_now(traces)
            faults += [f"{n} spans were refused" for n in metrics("otelcol_exporter_send_failed_spans") if n]
            # They lose what they have: Jaeger keeps spans in memory, Phoenix keeps what it wrote so far.
            for name in present:
                running[name].kill()
                running[name].wait()
            if database.exists():
                with sqlite3.connect(database) as connection:
                    connection.execute("DELETE FROM spans WHERE id % 2 = 0")
                    print(f"phoenix lost half: {connection.execute('SELECT count(*) FROM spans').fetchone()[0]} are left")
                connection.close()
            start_backends()
            for name in present:
                subprocess.run([given.bin, "forward", "rewind", name, "--since", "1d", "--data-dir", str(folder / "data")], check=True)
            until("all is sent again", lambda: metrics("otelcol_exporter_sent_spans") == [2 * n for n in sent], 600)
            faults += [f"after rewind: {fault}" for fault in faults_now(traces)]
            print("\n".join(faults) or "no faults")
            return 1 if faults else 0
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
