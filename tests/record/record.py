"""See README.md. usage: record.py CASE OUT_DIR CLIENT DIALECT SCENARIO -- COMMAND..."""
import gzip, http.server, json, os, re, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model_server, otlp_json


class Recording:
    def __init__(self, folder):
        self.folder, self.lock = folder, threading.Lock()
        self.calls, self.runs, self.facts, self.bodies = [], [], {}, []

    def body(self, path, headers, data):
        signal = next((s for s in ("traces", "logs", "metrics") if s in path), "traces")
        if signal == "metrics":
            return
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        is_json = plain.lstrip()[:1] == b"{" and "protobuf" not in (headers.get("content-type") or "")
        text = json.loads(plain) if is_json else otlp_json.to_json(signal, plain)
        with self.lock:
            stem = os.path.join(self.folder, f"{len(self.bodies) + 1:03}.{signal}")
            self.bodies.append({"file": os.path.basename(stem) + ".bin", "bytes": len(data), "content_type": headers.get("content-type"), "encoding": headers.get("content-encoding")})
        kept = {"path": path, "content-type": headers.get("content-type"), "content-encoding": headers.get("content-encoding")}
        for end, content in ((".bin", data), (".json", json.dumps(text, ensure_ascii=False).encode()), (".headers.json", json.dumps(kept).encode())):
            with open(stem + end, "wb") as f:
                f.write(content)


def handler(recording):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, kind, body):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def read(self):
            if self.headers.get("transfer-encoding") == "chunked":
                out = b""
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    out += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return out
            return self.rfile.read(int(self.headers.get("content-length") or 0))

        def do_GET(self):
            self.reply(200, "application/json", b"{}")

        do_PUT = do_PATCH = do_DELETE = do_GET

        def do_POST(self):
            data = self.read()
            if self.path == "/record/run":
                recording.runs.append(json.loads(data))
                return self.reply(200, "application/json", b"{}")
            if self.path == "/record/facts":
                recording.facts |= json.loads(data)
                return self.reply(200, "application/json", b"{}")
            api = model_server.api_of(self.path)
            if api:
                turn = model_server.Turn(api, json.loads(data))
                refused = "fail400" in turn.asked
                error = {"message": "The scripted server refuses this request", "type": "invalid_request_error", "code": "refused"}
                with recording.lock:
                    recording.calls.append(turn.log(len(recording.calls) + 1, 400 if refused else 200, error))
                    logged = recording.calls[-1]
                if refused:
                    return self.reply(400, "application/json", json.dumps({"type": "error", "error": error}).encode())
                kind, body = model_server.answer(turn)
                if "response" in logged:
                    logged["response"]["text"] = turn.text.strip()
                return self.reply(200, kind, body.encode())
            if re.search(r"/(traces|logs|metrics)$|/otel|otlp", self.path.split("?")[0]):
                recording.body(self.path, self.headers, data)
                return self.reply(200, self.headers.get("content-type") or "application/x-protobuf", b"{}" if "json" in (self.headers.get("content-type") or "") else b"")
            self.reply(200, "application/json", b"{}")

    return Handler


def main():
    case, out, client, dialect, scenario = sys.argv[1:6]
    command = sys.argv[7:]
    folder = os.path.join(out, case)
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    recording = Recording(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(recording))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    env = os.environ | {
        "RECORD_URL": url, "OPENAI_BASE_URL": url + "/v1", "OPENAI_API_BASE": url + "/v1", "OPENAI_API_KEY": "none", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)), "OTEL_BSP_SCHEDULE_DELAY": "500",
        "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    done = subprocess.run(command, env=env, timeout=240)
    time.sleep(1)
    for run in recording.runs:  # the call that asked for this run
        for call in recording.calls:
            for asked in (call.get("response") or {}).get("tool_calls") or []:
                taken = any(r.get("call_id") == asked["id"] for r in recording.runs)
                if "call_id" not in run and not taken and asked["name"] == run["name"] and asked["arguments"] == run["args"] and call["t"] <= run["t"]:
                    run |= {"call_id": asked["id"], "requested_by_llm_call": call["n"]}
    versions = dict(v.split("==") for v in client.split(",") if "==" in v)
    last = [c for c in recording.calls if c["status"] == 200]
    meta = {"case": case, "client": versions, "dialect": dialect, "scenario": scenario,
            "final_answer": recording.facts.get("final_answer") or (last[-1]["response"]["text"] if last else None), "question": recording.facts.get("question"),
            "llm_calls": recording.calls, "tool_executions": recording.runs, "tool_calls_requested_but_not_run_by_driver_tools": [],
            "other_events": recording.facts.get("other_events", []), "payload": {"files": recording.bodies}}
    with open(os.path.join(folder, "meta.json"), "w", encoding="utf-8") as f:
        json.dump(meta, f, indent=1, ensure_ascii=False)
    print(f"{case}: exit {done.returncode}, {len(recording.calls)} model calls, {len(recording.runs)} tool runs, {len(recording.bodies)} bodies")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
