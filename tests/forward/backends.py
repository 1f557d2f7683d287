#!/usr/bin/env python3
"""Every recorded payload through the bridge into a real Phoenix and a real Jaeger, and what they hold then.

    tests/forward/backends.py --bin target/debug/spanbridge [--phoenix .venv-phoenix/bin/phoenix] [--jaeger jaeger]

Phoenix is `arize-phoenix` of PyPI; Jaeger is `cmd/jaeger` of its Go module v1.76.0. One that is not given is said and left out.
Held: Jaeger returns every span of every trace. Phoenix has every span id once, a model call of kind LLM for each one that the bridge
counts, and for each its model and messages where the bridge's own documents have them.
"""
import argparse
import collections
import json
import os
import pathlib
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


def phoenix_faults(database, traces):
    rows = sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute(
        "SELECT t.trace_id, s.span_id, s.span_kind, s.attributes FROM spans s JOIN traces t ON s.trace_rowid = t.id").fetchall()
    kinds = collections.defaultdict(collections.Counter)
    lacking = collections.Counter()
    for trace, _, kind, attributes in rows:
        kinds[trace][kind] += 1
        llm = json.loads(attributes).get("llm") or {}
        if kind == "LLM":
            lacking.update(name for name in ("model_name", "input_messages", "output_messages") if not llm.get(name))
    llm = sum(count["LLM"] for count in kinds.values())
    told = sum(trace["model_spans"] for trace in traces)
    print(f"phoenix: {len(rows)} spans, {llm} model calls (documents tell of {told}), of these without {dict(lacking)}")
    assert told > 500, "the documents are not read as they are written"
    faults = []
    for trace in traces:
        have, told = kinds[trace["trace_id"]], trace["distinct_spans"]
        if sum(have.values()) != told:
            faults.append(f"phoenix: trace {trace['trace_id']} has {sum(have.values())} of {told} spans")
        if have["LLM"] < trace["model_spans"]:
            faults.append(f"phoenix: trace {trace['trace_id']} has {have['LLM']} of {trace['model_spans']} model calls")
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
        faults += [f"jaeger: span {id} has no parent" for id in trace["children"] if id in have and not have[id]["references"]]
    print(f"jaeger: {spans} spans, {parents} with a parent")
    return faults


def stored(program, server):
    """The traces of the bridge: ids of spans and children, and model calls that have a span of their own."""
    out = subprocess.run([program, "ls", "--json", "--limit", "5000", "--server", server], capture_output=True, text=True, check=True).stdout
    traces = [json.loads(line) for line in out.splitlines()]
    for trace in traces:
        raw = json.load(OPEN(f"{server}/api/v1/traces/{trace['trace_id']}", timeout=30))
        groups = [spans["spans"] for resource in raw["resourceSpans"] for spans in resource["scopeSpans"]]
        spans = [span for group in groups for span in group]
        trace["distinct_spans"] = len({span["spanId"] for span in spans})
        trace["children"] = {span["spanId"] for span in spans if span.get("parentSpanId")}
        document = OPEN(f"{server}/api/v1/traces/{trace['trace_id']}/reflex", timeout=30) if trace["agent_work"] else None
        nodes = json.load(document)["nodes"] if document else []
        # An attribute that a span has stays, also a kind that is not what the span did.
        own = {span["spanId"]: attribute["value"].get("stringValue") for span in spans for attribute in span.get("attributes", [])
               if attribute["key"] == "openinference.span.kind"}
        trace["model_spans"] = sum(1 for node in nodes if node["kind"] == "reason" and own.get(node["id"], "LLM") == "LLM")
    return traces


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--phoenix")
    arguments.add_argument("--jaeger")
    told = arguments.parse_args()
    running, destinations = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        log = (folder / "log").open("w")

        def start(command, **variables):
            environment = {**os.environ, "HOME": str(folder), **variables}
            running.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))

        try:
            if told.phoenix and os.path.exists(told.phoenix):
                port = free_port()
                start([told.phoenix, "serve"], PHOENIX_HOST="127.0.0.1", PHOENIX_PORT=str(port), PHOENIX_GRPC_PORT=str(free_port()),
                      PHOENIX_WORKING_DIR=str(folder / "phoenix"), PHOENIX_TELEMETRY_ENABLED="false")
                destinations.append(f"phoenix=http://127.0.0.1:{port}")
                until("phoenix is up", answers(f"http://127.0.0.1:{port}/healthz"))
            else:
                print("phoenix: did not run: no program given (pip install arize-phoenix)")
            query = free_port()
            if told.jaeger and os.path.exists(told.jaeger):
                otlp = free_port()
                (folder / "jaeger.yaml").write_text(JAEGER.format(http=query, grpc=free_port(), otlp=otlp))
                start([told.jaeger, "--config", str(folder / "jaeger.yaml")])
                until("jaeger is up", answers(f"http://127.0.0.1:{query}/api/services"))
            else:
                otlp = None
                print("jaeger: did not run: no program given (go build ./cmd/jaeger)")
            if otlp:
                destinations.append(f"jaeger=http://127.0.0.1:{otlp}")
            if not destinations:
                return 0
            http, api = free_port(), free_port()
            command = [told.bin, "serve", "--data-dir", str(folder / "data"), "--otlp-grpc", "127.0.0.1:0",
                       "--otlp-http", f"127.0.0.1:{http}", "--http", f"127.0.0.1:{api}"]
            if otlp:
                config = folder / "spanbridge.toml"
                # The port says nothing of the protocol here.
                config.write_text("".join(f'[[forward]]\npreset = "{d.split("=")[0]}"\nurl = "{d.split("=")[1]}"\n'
                                          + ('protocol = "grpc"\n' if d.startswith("jaeger") else "") for d in destinations))
                command += ["--config", str(config)]
            else:
                command += ["--forward", destinations[0]]
            start(command)
            server = f"http://127.0.0.1:{api}"
            until("the bridge is up", answers(f"{server}/healthz"))
            send(f"http://127.0.0.1:{http}")

            def metrics(name):
                text = OPEN(f"{server}/metrics", timeout=10).read().decode()
                return [int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{")]

            until("all is sent", lambda: set(metrics("otelcol_exporter_queue_size")) == {0}, 300)
            print(f"sent {metrics('otelcol_exporter_sent_spans')}, failed {metrics('otelcol_exporter_send_failed_spans')}, "
                  f"log records left out {metrics('spanbridge_forward_left_out_log_records_total')}")
            traces = stored(told.bin, server)
            faults = []
            if any(d.startswith("phoenix") for d in destinations):
                expected = sum(trace["distinct_spans"] for trace in traces)
                database = folder / "phoenix" / "phoenix.db"
                count = lambda: sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute("SELECT count(*) FROM spans").fetchone()[0]
                until(f"phoenix has {expected} spans", lambda: count() >= expected)
                faults += phoenix_faults(database, traces)
            if otlp:
                faults += jaeger_faults(f"http://127.0.0.1:{query}", traces)
            faults += [f"{n} spans were refused" for n in metrics("otelcol_exporter_send_failed_spans") if n]
            print("\n".join(faults) or "no faults")
            return 1 if faults else 0
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
