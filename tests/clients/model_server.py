"""A model server that answers by a script, in the wire form of OpenAI's chat completions."""
import http.server, itertools, json, threading

NUMBERS = itertools.count(1)


def call(index, call_id, name, arguments):
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def answer(request):
    """What the model says next: decided by what was said so far, so that it needs no state."""
    messages = request["messages"]
    asked = next(m["content"] for m in reversed(messages) if m["role"] == "user")
    results = [m for m in messages if m["role"] == "tool"]
    if "Bogotá" in asked and not results:
        return {"content": "I look both up.", "tool_calls": [
            call(0, "call_w1", "get_weather", {"city": "Bogotá"}),
            call(1, "call_f1", "search_flights", {"to": "BOG", "day": "Friday"})]}
    if "Bogotá" in asked and len(results) == 2:
        return {"content": None, "tool_calls": [call(0, "call_f2", "search_flights", {"to": "BOG", "day": "Saturday"})]}
    if "Bogotá" in asked:
        return {"content": "22 °C and cloudy. There is a flight on Saturday: AV 9."}
    return {"content": "One. Two. Three."}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json"):
        body = body.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/chat/completions":
            return self.reply(404, json.dumps({"error": {"message": f"no {self.path} here", "type": "not_found"}}))
        if request["model"] == "no-such-model":
            return self.reply(404, json.dumps({"error": {"message": "The model `no-such-model` does not exist", "type": "invalid_request_error", "code": "model_not_found"}}))
        said = answer(request)
        usage = {"prompt_tokens": 20 * len(request["messages"]), "completion_tokens": 11}
        usage["total_tokens"] = sum(usage.values())
        finish = "tool_calls" if said.get("tool_calls") else "stop"
        head = {"id": f"chatcmpl-{next(NUMBERS)}", "created": 1767261600, "model": "gpt-4o-mini-2024-07-18"}
        if not request.get("stream"):
            message = {"role": "assistant", **said}
            if said.get("tool_calls"):
                message["tool_calls"] = [{k: v for k, v in c.items() if k != "index"} for c in said["tool_calls"]]
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self.reply(200, json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}))
        chunks = [{"role": "assistant", "content": ""}] + [{"content": word + " "} for word in said["content"].split()]
        lines = [{"choices": [{"index": 0, "delta": c, "finish_reason": None}]} for c in chunks]
        lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        lines.append({"choices": [], "usage": usage})
        body = "".join("data: " + json.dumps({**head, "object": "chat.completion.chunk", **line}) + "\n\n" for line in lines)
        self.reply(200, body + "data: [DONE]\n\n", "text/event-stream")


def start():
    """The base URL of a server on a free loopback port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"
