"""See README.md. usage: client.py PROGRAM"""
import atexit, json, os, re, signal, subprocess, sys, tempfile, threading, time

import openai
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import agent, model_server

FORMATS = ("contextforge", "reflex", "openreward", "synth", "invariant")


class Tee(SpanExporter):
    """Hands each batch on, and keeps it as the file that the exporter would send."""

    def __init__(self, exporter, folder, label):
        self.exporter, self.folder, self.label, self.batches = exporter, folder, label, 0

    def export(self, spans):
        self.batches += 1
        with open(os.path.join(self.folder, f"{self.label}-{self.batches:03}.traces.bin"), "wb") as f:
            f.write(encode_spans(spans).SerializeToString())
        result = self.exporter.export(spans)
        assert result is SpanExportResult.SUCCESS, f"{self.label}: batch {self.batches} was not taken: {result}"
        return result

    def shutdown(self):
        self.exporter.shutdown()


class Server:
    """A running `spanbridge serve` on free ports."""

    def __init__(self, program, data):
        self.process = subprocess.Popen(
            [program, "serve", "--data-dir", data, "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--http", "127.0.0.1:0"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        atexit.register(self.process.kill)  # where a check fails
        self.said, self.addresses = [], {}
        threading.Thread(target=self.read, daemon=True).start()
        deadline = time.monotonic() + 30
        while len(self.addresses) < 3:
            assert self.process.poll() is None, f"serve ended with {self.process.returncode}:\n" + "".join(self.said)
            assert time.monotonic() < deadline, "serve did not name its three addresses:\n" + "".join(self.said)
            time.sleep(0.02)

    def read(self):
        for line in self.process.stderr:
            self.said.append(line)
            for name in ("OTLP/gRPC", "OTLP/HTTP", "API"):
                found = re.match(rf"\s+{name}\s+http://(127\.0\.0\.1:\d+)", line)
                if found:
                    self.addresses.setdefault(name, found.group(1))

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(30)
        assert how == signal.SIGKILL or code == 0, f"serve ended with {code} after {how.name}:\n" + "".join(self.said)


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr}"
    return done


def documents(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def send(exporter, label, folder, model_url):
    """One session of the agent, over this exporter."""
    provider = TracerProvider(resource=Resource.create({"service.name": "trips", "service.version": "1.2.0"}))
    tee = Tee(exporter, folder, label)
    provider.add_span_processor(BatchSpanProcessor(tee, max_export_batch_size=4, schedule_delay_millis=60_000))
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    client = openai.OpenAI(base_url=model_url, api_key="none", max_retries=0)
    agent.plan_a_trip(client, provider.get_tracer("trips"), f"session-{label}")
    assert agent.count(client).strip() == "One. Two. Three."
    agent.fail(client)
    instrumentor.uninstrument()
    assert provider.force_flush(), f"{label}: the exporter could not flush"
    provider.shutdown()
    assert tee.batches >= 2, f"{label}: {tee.batches} batches, so nothing was split"
    return tee.batches


def told(found, label):
    """The ContextForge document of the agent's run tells what the agent did."""
    runs = [json.loads(text) for text in found.values()]
    run = [r for r in runs if (r.get("metadata") or {}).get("session_id") == f"session-{label}"]
    assert len(run) == 1, f"{label}: {len(run)} runs with its session"
    run = run[0]
    by = lambda kind: [s for s in run["steps"] if s["step_type"] == kind]
    assert run["agent_info"]["name"] == "trip-planner", run["agent_info"]
    assert [s["content"] for s in by("user_input")] == [agent.QUESTION], by("user_input")
    assert [(s["tokens_in"], s["tokens_out"]) for s in by("llm_call")] == [(40, 11), (100, 11), (140, 11)], by("llm_call")
    assert [(s["tool_name"], s["arguments"], s["success"]) for s in by("tool_call")] == [
        ("get_weather", {"city": "Bogotá"}, True), ("search_flights", {"to": "BOG", "day": "Friday"}, False),
        ("search_flights", {"to": "BOG", "day": "Saturday"}, True)], by("tool_call")
    assert [s["content"] for s in by("final_output")] == ["22 °C and cloudy. There is a flight on Saturday: AV 9."], by("final_output")


def main(program):
    program = os.path.abspath(program)
    model_url = model_server.start()
    with tempfile.TemporaryDirectory() as work:
        data, sent = os.path.join(work, "data"), os.path.join(work, "sent")
        os.mkdir(sent)
        server = Server(program, data)
        batches = send(GrpcExporter(endpoint=f"http://{server.addresses['OTLP/gRPC']}", insecure=True), "grpc", sent, model_url)
        server.end(signal.SIGKILL)  # what was acknowledged is durable
        server = Server(program, data)
        batches += send(HttpExporter(endpoint=f"http://{server.addresses['OTLP/HTTP']}/v1/traces", compression=Compression.Gzip), "http", sent, model_url)

        files = sorted(os.path.join(sent, name) for name in os.listdir(sent))
        assert len(files) == batches

        def folders(name):
            for fmt in FORMATS:
                folder = os.path.join(work, name, fmt)
                os.makedirs(folder)
                yield fmt, folder

        converted = {}
        for fmt, folder in folders("convert"):
            run(program, "convert", "--to", fmt, "--output", folder, *files)
            converted[fmt] = documents(folder)
            assert len(converted[fmt]) == 6, f"{fmt}: {sorted(converted[fmt])}, not six traces"
        for label in ("grpc", "http"):
            told(converted["contextforge"], label)

        compared = 0
        for name, where in (("running", ["--server", f"http://{server.addresses['API']}"]), ("stopped", ["--data-dir", data])):
            if name == "stopped":
                server.end(signal.SIGTERM)
            for fmt, folder in folders(name):
                run(program, "export", "--to", fmt, "--output", folder, *where)
                exported = documents(folder)
                assert sorted(exported) == sorted(converted[fmt]), f"{fmt}, {name}: {sorted(exported)} is not {sorted(converted[fmt])}"
                for file, text in exported.items():
                    assert text == converted[fmt][file], f"{fmt}/{file}, {name}: export and convert differ"
                    compared += 1
        print(f"{batches} batches from a real client over gRPC and HTTP, one kill between; {compared} exported documents equal the converted ones")


if __name__ == "__main__":
    main(sys.argv[1])
