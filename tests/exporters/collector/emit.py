"""The known spans and records through the OpenTelemetry Collector: OTLP/JSON in, its `otlp` or `otlphttp` exporter out. See README.md.

Ends once its standard input does: only the one who reads the other side knows when all has arrived.
"""
import json, os, secrets, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

PROGRAM = sys.argv.pop(1)
BEGIN = 1767261600 * 10**9


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def configuration(transport, compression, endpoint, port):
    retry = {"enabled": True, "initial_interval": "200ms", "max_interval": "1s"}
    if transport == "grpc":
        name, exporter = "otlp", {"endpoint": endpoint.removeprefix("http://"), "tls": {"insecure": True}}
    else:
        name, exporter = "otlphttp", {"endpoint": endpoint, "encoding": {"http/json": "json", "http/protobuf": "proto"}[transport]}
    exporter |= {"compression": compression, "retry_on_failure": retry}
    pipeline = {"receivers": ["otlp"], "exporters": [name]}
    return {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {name: exporter},
        "service": {"pipelines": {"traces": pipeline, "logs": pipeline}},
    }


def attributes(values):
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}

    def value(of):
        if isinstance(of, list):
            return {"arrayValue": {"values": [value(one) for one in of]}}
        return {"intValue": str(of)} if type(of) is int else {kinds[type(of)]: of}

    return [{"key": key, "value": value(of)} for key, of in values.items()]


def post(collector, port, path, key, inside):
    resource = {"attributes": attributes({"service.name": "exporter"})}
    scope = {"scope": {"name": "emit", "version": "1"}} | inside
    body = {f"resource{key}": [{"resource": resource, f"scope{key}": [scope]}]}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"})
    for _ in range(300):
        try:
            return urllib.request.urlopen(request, timeout=10).read()
        except (urllib.error.URLError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError):
                raise
            if collector.poll() is not None:
                raise ChildProcessError(f"the collector has ended: {collector.returncode}") from error
            time.sleep(0.1)
    raise TimeoutError("the collector does not listen")


def main(transport, compression, endpoint, batches, pause):
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w") as file:
            json.dump(configuration(transport, compression, endpoint, port), file)
        collector = subprocess.Popen([PROGRAM, "--config", f"file:{path}"])
        try:
            for batch in range(int(batches)):
                trace, root, child = secrets.token_hex(16), secrets.token_hex(8), secrets.token_hex(8)
                first = {
                    "traceId": trace, "spanId": root, "name": "root", "kind": 2,
                    "startTimeUnixNano": str(BEGIN + 1), "endTimeUnixNano": str(BEGIN + 15 * 10**8),
                    "attributes": attributes({"text": "größe ☃", "big": 2**52 + 1, "negative": -42, "ratio": 0.5, "flag": True,
                                              "words": ["a", "b"], "numbers": [1, 2], "batch": batch}),
                    "events": [{"timeUnixNano": str(BEGIN + 5 * 10**8), "name": "happened", "attributes": attributes({"n": 7})}],
                    "links": [{"traceId": "01" * 16, "spanId": "02" * 8, "attributes": attributes({"l": 1})}],
                    "status": {"code": 2, "message": "it broke"},
                }
                second = {
                    "traceId": trace, "spanId": child, "parentSpanId": root, "name": "child", "kind": 3,
                    "startTimeUnixNano": str(BEGIN + 25 * 10**7), "endTimeUnixNano": str(BEGIN + 75 * 10**7),
                }
                record = {
                    "traceId": trace, "spanId": root, "timeUnixNano": str(BEGIN + 5 * 10**8), "severityNumber": 9,
                    "body": {"stringValue": "said"}, "attributes": attributes({"n": 7}),
                }
                post(collector, port, "/v1/traces", "Spans", {"spans": [first, second]})
                time.sleep(1)  # The two have queues of their own: a first answer that is lost has to be the spans'.
                post(collector, port, "/v1/logs", "Logs", {"logRecords": [record]})
                print(trace, root, child, flush=True)
                time.sleep(int(pause) / 1000)
            sys.stdin.read()
        finally:
            collector.terminate()
            collector.wait(20)


main(*sys.argv[1:])
