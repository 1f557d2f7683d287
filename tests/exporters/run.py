"""Real exporters against the bridge: see README.md. usage: run.py PROGRAM [LANGUAGE]...
       run.py --prepare     only makes their programs"""
import os, subprocess, sys, threading, time, traceback
from concurrent.futures import ThreadPoolExecutor

from bridge import Bridge, LosesOneAnswer, Overload, wait_until
from prepare import PROGRAMS, DidNotRun, versions

FULL = os.environ.get("SPANBRIDGE_FULL") == "1"
BEGIN = 1767261600 * 10**9

# What each exporter offers.
OFFERS = {
    "python": {"grpc": ["none", "gzip", "deflate"], "http/protobuf": ["none", "gzip", "deflate"]},
    "javascript": {"grpc": ["none", "gzip"], "http/protobuf": ["none", "gzip"], "http/json": ["none", "gzip"]},
    "go": {"grpc": ["none", "gzip"], "http/protobuf": ["none", "gzip"]},
    "java": {"grpc": ["none", "gzip"], "http/protobuf": ["none", "gzip"]},
    "rust": {kind: ["none", "gzip", "zstd"] for kind in ("grpc", "http/protobuf", "http/json")},
    "collector": {
        "grpc": ["none", "gzip", "zstd"],
        "http/protobuf": ["none", "gzip", "zstd", "deflate", "zlib"],
        "http/json": ["none", "gzip"],
    },
}

# Exporters that give up by themselves, and why: there they must say so, and nothing may stand twice.
_NO_RETRY = "it has no retry over gRPC"
_NO_RECONNECT = "it does not retry when the connection fails"
_NO_RESEND = "it does not retry when the connection breaks before the answer"
GIVES_UP = {
    ("javascript", "grpc", "refused"): _NO_RETRY,
    ("javascript", "grpc", "late"): _NO_RETRY,
    ("javascript", "grpc", "killed"): _NO_RETRY,
    ("javascript", "grpc", "answer lost"): _NO_RETRY,
    ("go", "http/protobuf", "late"): _NO_RECONNECT,
    ("go", "http/protobuf", "killed"): _NO_RECONNECT,
    ("go", "http/protobuf", "answer lost"): _NO_RECONNECT,
    ("java", "grpc", "answer lost"): _NO_RESEND,
    ("rust", "grpc", "answer lost"): _NO_RESEND,
    ("java", "http/protobuf", "answer lost"): _NO_RESEND,
}


class Emitter:
    """A running program that sends the known spans and records."""

    def __init__(self, command, transport, compression, port, batches=1, pause=0):
        self.traces = []
        self.process = subprocess.Popen([*command, transport, compression, f"http://127.0.0.1:{port}", str(batches), str(pause)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self.readers = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            self.traces.append(line.split())

    def read_errors(self):
        self.errors.extend(self.process.stderr)

    def end(self, arrived):
        """Whether it says that all was taken."""
        def done():
            return self.process.poll() is not None or (self.traces and all(arrived(*ids) for ids in self.traces))

        wait_until("all is sent: " + "".join(self.errors[-3:]), done, 90)
        self.process.stdin.close()
        self.process.wait(60)
        for reader in self.readers:
            reader.join()
        return self.process.returncode == 0

    def runs(self):
        """True; an error once it has failed."""
        if self.process.poll() not in (None, 0):
            raise GaveUp("the exporter failed: " + "".join(self.errors[-5:]))
        return True

    def gives_up_alone(self):
        """Waits until it has ended, while the bridge is away: on a busy machine, the bridge could be back before the exporter tries."""
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass  # `finish` finds that it does not give up any more.

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class GaveUp(AssertionError):
    """The exporter says that not all was taken."""


def values(attributes):
    return {one["key"]: one["value"] for one in attributes or []}


def integer(number):
    return {"intValue": str(number)}


def listed(stored, key, items):
    return [(resource, scope, item) for resource in stored.get(f"resource{key}", []) for scope in resource[f"scope{key}"]
            for item in scope[items]]


def expected_root(batch):
    return {
        "name": "root", "kind": 2, "startTimeUnixNano": str(BEGIN + 1), "endTimeUnixNano": str(BEGIN + 15 * 10**8),
        "attributes": {
            "text": {"stringValue": "größe ☃"}, "big": integer(2**52 + 1), "negative": integer(-42), "ratio": {"doubleValue": 0.5},
            "flag": {"boolValue": True}, "words": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}},
            "numbers": {"arrayValue": {"values": [integer(1), integer(2)]}}, "batch": integer(batch)},
        "events": [(str(BEGIN + 5 * 10**8), "happened", {"n": integer(7)})],
        "links": [("01" * 16, "02" * 8, {"l": integer(1)})],
        "status": {"code": 2, "message": "it broke"},
    }


def expected_child(root):
    return {"name": "child", "kind": 3, "startTimeUnixNano": str(BEGIN + 25 * 10**7), "endTimeUnixNano": str(BEGIN + 75 * 10**7),
            "parentSpanId": root, "attributes": {}, "events": [], "links": [], "status": {}}


def shown(span):
    span = dict(span)
    return {
        **{key: span[key] for key in ("name", "kind", "startTimeUnixNano", "endTimeUnixNano", "parentSpanId") if span.get(key)},
        "attributes": values(span.get("attributes")),
        "events": [(event["timeUnixNano"], event["name"], values(event.get("attributes"))) for event in span.get("events", [])],
        "links": [(link["traceId"], link["spanId"], values(link.get("attributes"))) for link in span.get("links", [])],
        "status": span.get("status", {}),
    }


def same(what, wanted, have):
    assert wanted == have, f"{what}\n  expected: {wanted}\n  got:      {have}"


def check(bridge, traces, gave_up=False):
    """Everything of these traces is there, exactly, once; after an exporter gave up, what is there is."""
    for batch, (trace, root, child) in enumerate(traces):
        stored = bridge.trace(trace)
        spans = listed(stored, "Spans", "spans")
        if gave_up and not spans:
            continue
        same("span ids", sorted([root, child]), sorted(span["spanId"] for _, _, span in spans))
        wanted = {root: expected_root(batch), child: expected_child(root)}
        for resource, scope, span in spans:
            same("span", wanted[span["spanId"]], shown(span))
            same("service", {"stringValue": "exporter"}, values(resource["resource"]["attributes"])["service.name"])
            same("scope", ("emit", "1"), (scope["scope"]["name"], scope["scope"]["version"]))
        records = [record for _, _, record in listed(stored, "Logs", "logRecords")]
        if gave_up and not records:
            continue
        same("log records", 1, len(records))
        [record] = records
        same("log record", (str(BEGIN + 5 * 10**8), 9, {"stringValue": "said"}, {"n": integer(7)}, root),
             (record["timeUnixNano"], record["severityNumber"], record["body"], values(record.get("attributes")), record["spanId"]))


def arrived(bridge):
    def whole(trace, *_):
        stored = bridge.trace(trace)
        return len(listed(stored, "Spans", "spans")) >= 2 and listed(stored, "Logs", "logRecords")

    return whole


def plain(program, command, transport, compression, gives_up):
    with Bridge(program) as bridge:
        bridge.start()
        emitter = Emitter(command, transport, compression, bridge.port(transport))
        return finish(bridge, emitter, 1, gives_up)


def refused(program, command, transport, compression, gives_up):
    """Overloaded when it begins: 503 with Retry-After, or UNAVAILABLE with RetryInfo."""
    with Bridge(program, "--max-in-flight-bytes", "100000") as bridge:
        bridge.start()
        overload = Overload(bridge)
        emitter = Emitter(command, transport, compression, bridge.port(transport))
        try:
            wait_until("it is refused", lambda: bridge.metric('refused_requests_total{reason="overloaded"}') or not emitter.runs())
        finally:
            overload.end()
        return finish(bridge, emitter, 1, gives_up)


def late(program, command, transport, compression, gives_up):
    """The bridge is started after the exporter began to send. An exporter that gave up before the bridge was there, as some do
    within a second on a busy machine, says nothing: it is tried again with a shorter wait."""
    for wait in (0.7, 0.3, 0.1, 0):
        with Bridge(program) as bridge:
            emitter = Emitter(command, transport, compression, bridge.port(transport))
            wait_until("it begins", lambda: emitter.traces or not emitter.runs())
            emitter.gives_up_alone() if gives_up else time.sleep(wait)
            bridge.start()
            try:
                return finish(bridge, emitter, 1, gives_up)
            except GaveUp:
                if not wait:
                    raise


def killed(program, command, transport, compression, gives_up):
    """`kill -9` in the middle, then the bridge is started again."""
    with Bridge(program) as bridge:
        bridge.start()
        emitter = Emitter(command, transport, compression, bridge.port(transport), batches=5, pause=300)
        wait_until("two have arrived", lambda: len(emitter.traces) >= 2 and arrived(bridge)(*emitter.traces[1]) or not emitter.runs())
        bridge.kill()
        emitter.gives_up_alone() if gives_up else time.sleep(0.7)
        bridge.start()
        return finish(bridge, emitter, 5, gives_up)


def answer_lost(program, command, transport, compression, gives_up):
    """The spans are stored, but the connection breaks before the exporter reads so."""
    with Bridge(program) as bridge:
        bridge.start()
        proxy = LosesOneAnswer(bridge, bridge.port(transport))
        emitter = Emitter(command, transport, compression, proxy.port)
        try:
            told = finish(bridge, emitter, 1, gives_up, proxy)
        finally:
            proxy.end()
        return told


def finish(bridge, emitter, batches, gives_up, proxy=None):
    try:
        taken = emitter.end(arrived(bridge) if proxy is None else lambda *ids: bridge.metric("duplicate_spans_total") and arrived(bridge)(*ids))
    finally:
        emitter.kill()
    if not gives_up:
        if not taken:
            raise GaveUp("the exporter failed: " + "".join(emitter.errors[-5:]))
    same("batches", batches, len(emitter.traces))
    if gives_up:
        assert not taken, f"it does not give up any more: take it off the list ({gives_up})"
        check(bridge, emitter.traces, gave_up=True)
        return f"the exporter gives up: {gives_up}"
    check(bridge, emitter.traces)
    if proxy is not None:
        assert proxy.lost, "no answer was lost"
        same("duplicates counted", 2, bridge.metric("duplicate_spans_total"))
    return "once"


SCENARIOS = {"plain": plain, "refused": refused, "late": late, "killed": killed, "answer lost": answer_lost}


def cases(language):
    for transport, compressions in OFFERS[language].items():
        for compression in compressions:
            yield "plain", transport, compression
        for name in ("refused", "late", "killed", "answer lost"):
            yield name, transport, compressions[1]


def prepared(language):
    if language == "collector" and not FULL:
        raise DidNotRun("its build takes minutes; SPANBRIDGE_FULL=1 runs it")
    return PROGRAMS[language]()


def main(program, *languages):
    wrong = total = 0
    with ThreadPoolExecutor(4) as pool:
        for language in languages or PROGRAMS:
            begin = time.monotonic()
            try:
                command = prepared(language)
            except DidNotRun as missing:
                print(f"{language}: did not run: {missing}", flush=True)
                continue
            except RuntimeError as error:
                print(f"{language}: could not be made: {error}", flush=True)
                wrong += 1
                continue
            if program == "--prepare":
                print(f"{language}: made in {time.monotonic() - begin:.0f} s", flush=True)
                continue
            made = time.monotonic() - begin
            waiting = [(case, pool.submit(SCENARIOS[case[0]], program, command, *case[1:], GIVES_UP.get((language, case[1], case[0])))) for case in cases(language)]
            print(f"{language}: {versions(language)}", flush=True)
            for (name, transport, compression), result in waiting:
                total += 1
                try:
                    said = result.result()
                except Exception as error:
                    wrong += 1
                    said = f"FAILED: {error}" if isinstance(error, AssertionError) else traceback.format_exc()
                print(f"  {name:<12} {transport:<14} {compression:<8} {said}", flush=True)
            print(f"  made in {made:.0f} s, all in {time.monotonic() - begin:.0f} s", flush=True)
    if program != "--prepare":
        print(f"exporters: {total} cases, {wrong} failed")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
