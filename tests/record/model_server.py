"""A model that answers by a script: it asks for the offered tools, then answers with their results.

Words in the question change the script: `fail400` is refused, `one by one` asks for one tool a turn.
Paths: OpenAI chat completions and Responses, Anthropic messages, Gemini."""
import itertools, json, time

NUMBERS = itertools.count(1)
WANTED = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Tokyo"}), ("get_time", {"city": "Paris"}),
          ("get_population", {"city": "Atlantis"})]


def plain(content):
    if isinstance(content, str):
        return content
    return " ".join(p if isinstance(p, str) else p.get("text") or "" for p in content or [] if isinstance(p, (str, dict)))


def decide(asked, results, offered):
    """(text, [(name, arguments)]) of the next answer."""
    wanted = [w for w in WANTED if w[0] in offered]
    if "one by one" in asked:
        wanted = wanted[len(results):len(results) + 1]
    elif results:
        wanted = []
    if wanted:
        return "Let me look that up.", wanted
    if results:
        return "Answer: " + "; ".join(results), []
    return "Answer: nothing to look up.", []


class Turn:
    """What one request says, whatever its API."""

    def __init__(self, api, body):
        self.api, self.body = api, body
        tools = [d for t in body.get("tools") or [] for d in t.get("functionDeclarations") or [t]]
        self.offered = [(t.get("function") or t).get("name") for t in tools]
        messages = body.get("messages") or body.get("input") or of_gemini(body.get("contents"))
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        self.messages = messages or []
        asked, results = "", []
        for m in self.messages:
            if m.get("role") == "user":
                blocks = [b for b in m["content"] if isinstance(b, dict) and b.get("type") == "tool_result"] if isinstance(m.get("content"), list) else []
                if blocks:
                    results += [plain(b.get("content")) for b in blocks]
                    continue
                asked, results = plain(m.get("content")), []
            elif m.get("role") == "tool":
                results.append(plain(m.get("content")))
            elif m.get("type") == "function_call_output":
                results.append(plain(m.get("output")))
        self.asked = asked
        text, calls = decide(asked, results, self.offered)
        stem = "toolu_" if api == "anthropic" else "call_"
        self.text = text
        self.calls = [{"id": f"{stem}{next(NUMBERS):08d}rec", "name": n, "arguments": a} for n, a in calls]
        size = len(json.dumps(self.messages)) // 4 + 17
        self.usage = {"input": size, "output": len(text) // 4 + 9 * len(self.calls) + 3, "cached": 0, "reasoning": 0}
        self.usage["total"] = self.usage["input"] + self.usage["output"]
        self.id = {"openai.chat": "chatcmpl-", "openai.responses": "resp_", "anthropic": "msg_", "gemini": "gemini-"}[api] + f"{next(NUMBERS):012d}rec"
        self.model = (body.get("model") or "?").rsplit("/", 1)[-1] + "-2024-07-18"

    def log(self, n, status, error=None):
        system = self.body.get("system") or self.body.get("instructions")
        out = {"n": n, "t": time.time(), "api": self.api, "status": status, "stream": bool(self.body.get("stream")),
               "request": {"model": self.body.get("model"), "params": {k: self.body[k] for k in ("temperature", "max_tokens") if k in self.body},
                           "system": system, "messages": self.messages, "tools": self.offered}}
        if status == 200:
            out["usage"] = self.usage | {"sent_to_client": True}
            out["response"] = {"text": self.text, "reasoning": None, "tool_calls": self.calls,
                               "finish_reason": "tool_calls" if self.calls else "stop", "response_id": self.id, "response_model": self.model}
        else:
            out["error"] = error
        return out


def answer(turn):
    """(content type, body) in the API's own form."""
    stream = bool(turn.body.get("stream"))
    events = {"openai.chat": chat, "openai.responses": responses, "anthropic": anthropic, "gemini": gemini}[turn.api](turn, stream)
    if not stream:
        return "application/json", json.dumps(events)
    if turn.api == "gemini":
        return "text/event-stream", "".join(f"data: {json.dumps(e)}\r\n\r\n" for e in events)
    named = turn.api != "openai.chat"
    lines = "".join((f"event: {e['type']}\n" if named else "") + f"data: {json.dumps(e)}\n\n" for e in events)
    return "text/event-stream", lines + ("" if named else "data: [DONE]\n\n")


def chat(turn, stream):
    head = {"id": turn.id, "created": 1767261600, "model": turn.model}
    usage = {"prompt_tokens": turn.usage["input"], "completion_tokens": turn.usage["output"], "total_tokens": turn.usage["total"]}
    calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}} for c in turn.calls]
    finish = "tool_calls" if calls else "stop"
    if not stream:
        message = {"role": "assistant", "content": turn.text} | ({"tool_calls": calls} if calls else {})
        return head | {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
    deltas = [{"role": "assistant", "content": ""}] + [{"content": w + " "} for w in turn.text.split()]
    deltas += [{"tool_calls": [{"index": i} | c]} for i, c in enumerate(calls)]
    head["object"] = "chat.completion.chunk"
    out = [head | {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    out.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    turn.text = turn.text + " "
    if (turn.body.get("stream_options") or {}).get("include_usage"):
        out.append(head | {"choices": [], "usage": usage})
    return out


def responses(turn, stream):
    items = [{"type": "message", "id": f"msg_{turn.id}", "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": turn.text, "annotations": []}]}]
    items += [{"type": "function_call", "id": "fc_" + c["id"], "call_id": c["id"], "name": c["name"], "arguments": json.dumps(c["arguments"]),
               "status": "completed"} for c in turn.calls]
    body = {"id": turn.id, "object": "response", "created_at": 1767261600, "status": "completed", "model": turn.model, "output": items,
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": turn.body.get("tools") or [], "error": None, "incomplete_details": None,
            "instructions": turn.body.get("instructions"), "metadata": {}, "temperature": 1.0, "top_p": 1.0,
            "usage": {"input_tokens": turn.usage["input"], "output_tokens": turn.usage["output"], "total_tokens": turn.usage["total"],
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}
    if not stream:
        return body
    out = [{"type": "response.created", "response": body | {"status": "in_progress", "output": [], "usage": None}}]
    for i, item in enumerate(items):
        out.append({"type": "response.output_item.added", "output_index": i, "item": item})
        out.append({"type": "response.output_item.done", "output_index": i, "item": item})
    out.append({"type": "response.completed", "response": body})
    return [e | {"sequence_number": i} for i, e in enumerate(out)]


def anthropic(turn, stream):
    content = [{"type": "text", "text": turn.text}] + [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["arguments"]} for c in turn.calls]
    stop = "tool_use" if turn.calls else "end_turn"
    usage = {"input_tokens": turn.usage["input"], "output_tokens": turn.usage["output"], "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    body = {"id": turn.id, "type": "message", "role": "assistant", "model": turn.model, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    if not stream:
        return body
    out = [{"type": "message_start", "message": body | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}}]
    for i, block in enumerate(content):
        empty = block | ({"text": ""} if block["type"] == "text" else {"input": {}})
        delta = {"type": "text_delta", "text": block["text"]} if block["type"] == "text" else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        out += [{"type": "content_block_start", "index": i, "content_block": empty}, {"type": "content_block_delta", "index": i, "delta": delta}, {"type": "content_block_stop", "index": i}]
    return out + [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": turn.usage["output"]}}, {"type": "message_stop"}]


def of_gemini(contents):
    """Gemini's contents as messages of the OpenAI form."""
    messages = []
    for content in contents or []:
        results = [part["functionResponse"]["response"] for part in content["parts"] if "functionResponse" in part]
        messages += [{"role": "tool", "content": result.get("output") or json.dumps(result)} for result in results]
        if not results:
            role = "assistant" if content.get("role") == "model" else "user"
            messages.append({"role": role, "content": " ".join(part.get("text") or "" for part in content["parts"])})
    return messages


def gemini(turn, stream):
    parts = [{"text": turn.text}] + [{"functionCall": {"name": c["name"], "args": c["arguments"]}} for c in turn.calls]
    usage = {"promptTokenCount": turn.usage["input"], "candidatesTokenCount": turn.usage["output"], "totalTokenCount": turn.usage["total"]}
    body = {"responseId": turn.id, "modelVersion": turn.model, "usageMetadata": usage,
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    return [body] if stream else body


def request_body(path, body):
    """The body with what Gemini's API says in the path."""
    if api_of(path) != "gemini":
        return body
    model, method = path.split("?")[0].rsplit("/", 1)[-1].split(":")
    return body | {"model": model, "stream": method == "streamGenerateContent"}


def api_of(path):
    if path.split("?")[0].endswith((":generateContent", ":streamGenerateContent")):
        return "gemini"
    for end, api in (("/chat/completions", "openai.chat"), ("/responses", "openai.responses"), ("/messages", "anthropic")):
        if path.split("?")[0].endswith(end):
            return api
    return None
