#!/usr/bin/env python3
"""Writes the inputs of the hand-made cases: `made-*/001.traces.json` (and `002.logs.json`) and each README.md.

usage: make.py [--check]      --check writes nothing and fails when a file is not what this program makes

Times and ids are fixed: a case has a number, a trace id holds the case's number and the trace's, a span id the same and the span's.
The expected documents beside the inputs are written by `UPDATE=1 cargo test --test formats` and read by a person."""
import base64, json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = 1767261600_000_000_000  # 2026-01-01T10:00:00Z
CASES = []


def value(v):
    """An OTLP/JSON AnyValue."""
    if v is None:
        return {}
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, float):
        return {"doubleValue": v if v == v and abs(v) != float("inf") else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(v)]}
    if isinstance(v, bytes):
        return {"bytesValue": base64.b64encode(v).decode()}
    if isinstance(v, (list, tuple)):
        return {"arrayValue": {"values": [value(x) for x in v]}}
    if isinstance(v, dict):
        return {"kvlistValue": {"values": attributes(v.items())}}
    return {"stringValue": v}


def attributes(pairs):
    return [{"key": k, "value": value(v)} for k, v in (pairs.items() if isinstance(pairs, dict) else pairs)]


def text(v):
    """Compact JSON text."""
    return json.dumps(v, ensure_ascii=False, separators=(",", ":"))


def nanos(ms):
    return str(BASE + round(ms * 1_000_000))


class Case:
    """One case folder. `about` is its README."""

    def __init__(self, number, name, title, about, options=None, refused=None):
        self.number, self.name, self.title, self.about, self.options, self.refused = number, name, title, about, options, refused
        self.spans, self.logs, self.count = [], [], 0
        self.resource = {"service.name": "made", "service.version": "1.0.0"}
        assert all(c.number != number and c.name != name for c in CASES)
        CASES.append(self)

    def trace_id(self, trace=1):
        return f"5b8efff798038103d269{self.number:08x}{trace:04x}"

    def span(self, name, start, end, attrs, parent=None, status=None, events=(), scope="openinference.instrumentation", trace=1, span_id=None, links=(), kind=1, dropped=0):
        """Adds a span; gives its id. Times in milliseconds after the case's beginning; end None: still running."""
        if span_id is None:
            self.count += 1
            span_id = f"{self.number:04x}{trace:04x}{self.count:08x}"
        span = {"traceId": self.trace_id(trace), "spanId": span_id, "parentSpanId": parent or "", "name": name, "kind": kind,
                "startTimeUnixNano": nanos(start), "endTimeUnixNano": "0" if end is None else nanos(end), "attributes": attributes(attrs)}
        if events:
            span["events"] = [{"timeUnixNano": nanos(at), "name": n, "attributes": attributes(a)} for at, n, a in events]
        if links:
            span["links"] = [{"traceId": self.trace_id(), "spanId": s} for s in links]
        if dropped:
            span["droppedAttributesCount"] = dropped
        if status is not None:
            code, message = status
            span["status"] = {"code": code, **({"message": message} if message else {})}
        self.spans.append((scope, span))
        return span_id

    def log(self, at, event, span_id, body, attrs=(), trace=1):
        self.logs.append({"timeUnixNano": nanos(at), "observedTimeUnixNano": nanos(at), "eventName": event, "traceId": self.trace_id(trace),
                          "spanId": span_id, "body": value(body), "attributes": attributes(attrs)})

    def files(self):
        scopes = {}
        for scope, span in self.spans:
            scopes.setdefault(scope, []).append(span)
        resource = {"attributes": attributes(self.resource)}
        yield "001.traces.json", {"resourceSpans": [{"resource": resource, "scopeSpans": [
            {"scope": {"name": s, "version": "1.0"}, "spans": spans} for s, spans in scopes.items()]}]}
        if self.logs:
            yield "002.logs.json", {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {"name": "made"}, "logRecords": self.logs}]}]}
        if self.options:
            yield "options.json", self.options
        if self.refused:
            yield "refused.json", self.refused


# ---------------------------------------------------------------- words of the dialects

def chat(role, content=None, calls=(), call_id=None, reasoning=None, parts=None):
    """A message: calls are (id, name, arguments)."""
    return {"role": role, "content": content, "calls": list(calls), "call_id": call_id, "reasoning": reasoning, "parts": parts}


def flat(prefix, messages):
    """OpenInference's flattened messages."""
    out = {}
    for i, m in enumerate(messages):
        at = f"{prefix}.{i}.message."
        out[at + "role"] = m["role"]
        parts = list(m["parts"] or [])
        if m["reasoning"]:
            parts.insert(0, {"type": "reasoning", "text": m["reasoning"]})
            if m["content"] is not None:
                parts.append({"type": "text", "text": m["content"]})
        elif m["content"] is not None:
            out[at + "content"] = m["content"]
        for j, part in enumerate(parts):
            for k, v in part.items():
                out[f"{at}contents.{j}.message_content.{k}"] = v
        if m["call_id"]:
            out[at + "tool_call_id"] = m["call_id"]
        for j, (call_id, name, arguments) in enumerate(m["calls"]):
            call = f"{at}tool_calls.{j}.tool_call."
            if call_id is not None:
                out[call + "id"] = call_id
            out[call + "function.name"] = name
            if arguments is not None:
                out[call + "function.arguments"] = arguments if isinstance(arguments, str) else text(arguments)
    return out


def parts(messages, finish=None):
    """OTel GenAI's messages, as JSON text."""
    out = []
    for m in messages:
        own = []
        if m["reasoning"]:
            own.append({"type": "reasoning", "content": m["reasoning"]})
        own += m["parts"] or []
        if m["role"] == "tool":
            own.append({"type": "tool_call_response", "id": m["call_id"], "response": m["content"]})
        elif m["content"] is not None:
            own.append({"type": "text", "content": m["content"]})
        own += [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in m["calls"]]
        out.append({"role": m["role"], "parts": own, **({"finish_reason": finish} if finish else {})})
    return text(out)


def llm(before, said, tokens=None, model="gpt-4o", **more):
    """An OpenInference LLM span's attributes."""
    out = {"openinference.span.kind": "LLM", "llm.model_name": model, "llm.provider": "openai"}
    out.update(flat("llm.input_messages", before))
    out.update(flat("llm.output_messages", [said]))
    if tokens:
        out.update({"llm.token_count.prompt": tokens[0], "llm.token_count.completion": tokens[1], "llm.token_count.total": sum(tokens)})
    out.update({k.replace("__", "."): v for k, v in more.items()})
    return out


def genai(before, said, tokens=None, model="gpt-4o", finish="stop", **more):
    """An OTel GenAI chat span's attributes."""
    out = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": model, "gen_ai.response.model": model,
           "gen_ai.input.messages": parts(before), "gen_ai.output.messages": parts([said], finish), "gen_ai.response.finish_reasons": [finish]}
    if tokens:
        out.update({"gen_ai.usage.input_tokens": tokens[0], "gen_ai.usage.output_tokens": tokens[1]})
    out.update({k.replace("__", "."): v for k, v in more.items()})
    return out


def tool(name, call_id=None, arguments=None, result=None, **more):
    out = {"openinference.span.kind": "TOOL", "tool.name": name}
    if call_id:
        out["tool_call.id"] = call_id
    for key, v in (("input", arguments), ("output", result)):
        if v is not None:
            out[key + ".value"] = v if isinstance(v, str) else text(v)
            if not isinstance(v, str):
                out[key + ".mime_type"] = "application/json"
    out.update({k.replace("__", "."): v for k, v in more.items()})
    return out


def agent(name, question=None, answer=None, **more):
    out = {"openinference.span.kind": "AGENT", "agent.name": name}
    if question is not None:
        out["input.value"] = question
    if answer is not None:
        out["output.value"] = answer
    out.update({k.replace("__", "."): v for k, v in more.items()})
    return out


ERROR, OK = 2, 1
SYSTEM = chat("system", "You plan trips.")


def exception(at, kind, message):
    return (at, "exception", {"exception.type": kind, "exception.message": message})


# ---------------------------------------------------------------- cases

def every_step():
    c = Case(1, "made-every-step", "Every ContextForge step with every optional field", """
One run in OpenInference keys and `spanbridge.*` keys. In ContextForge, each of the nine step types occurs at least once with all optional
fields of the page: `user_input.input_type`; `llm_call` with tokens, latency, cost and provider; `tool_call` with latency, success, error (a
second one fails) and `resource_impact` {amount, unit, breakdown}; `retrieval` with scores, metadata and latency; `memory_read` with
`relevance_scores` and `total_available`; `memory_write` with `entity_id`, `namespace`, `key` and `changes`; `state_change` with `old_value`
and `reason`; `interrupt` with a wait; `final_output` with its format. `task_info` has description, goal and input; `agent_info` has name,
version, framework and framework_version.""")
    ask = chat("user", "Book the cheapest flight to Bogotá.")
    root = c.span("trip-planner", 0, 9000, agent("trip-planner", ask["content"], "Booked AV 9 for 320 USD.", session__id="s-1", user__id="u-1",
                  spanbridge__task__description="Book a flight.", spanbridge__task__goal="The cheapest flight is booked.", spanbridge__task__input=text({"to": "BOG"})))
    c.span("recall", 100, 200, {"spanbridge.step_type": "memory_read", "spanbridge.memory.query": text({"user": "u-1", "topic": "seats"}),
           "spanbridge.memory.results": text([{"seat": "aisle"}, {"seat": "front"}]), "spanbridge.memory.scores": text([0.9, 0.25]),
           "spanbridge.memory.total_available": 7, "spanbridge.memory.entity_type": "preference", "spanbridge.memory.namespace": text(["users", "u-1"])}, root)
    found = {}
    for i, (ident, content, score) in enumerate([("d1", "AV 9 to BOG, 320 USD", 0.93), ("d2", "LH 542 to BOG, 810 USD", 0.5)]):
        found.update({f"retrieval.documents.{i}.document.{k}": v for k, v in
                      {"id": ident, "content": content, "score": score, "metadata": text({"source": "fares", "page": i})}.items()})
    c.span("fares", 300, 450, {"openinference.span.kind": "RETRIEVER", "input.value": "flights to BOG", **found}, root)
    said = chat("assistant", calls=[("call_1", "book", {"flight": "AV 9"}), ("call_2", "pay", {"usd": 320})], reasoning="AV 9 is cheaper.")
    first = c.span("ChatOpenAI", 500, 1700, llm([SYSTEM, ask], said, (82, 41), llm__invocation_parameters=text({"temperature": 0.1, "max_tokens": 512}),
                   llm__cost__prompt=0.0004, llm__cost__completion=0.0008, llm__cost__total=0.0012, llm__finish_reason="tool_calls",
                   llm__token_count__prompt_details__cache_read=32, llm__token_count__completion_details__reasoning=16), root)
    c.span("book", 1800, 2300, tool("book", "call_1", {"flight": "AV 9"}, {"booking": "X1"}, spanbridge__resource_impact__amount=1.5,
           spanbridge__resource_impact__unit="credits", spanbridge__resource_impact__breakdown=text({"search": 0.5, "hold": 1.0}), tool__description="Books a flight."), root)
    c.span("pay", 1810, 2810, tool("pay", "call_2", {"usd": 320}), root, (ERROR, "card declined"), [exception(2805, "PaymentError", "card declined")])
    c.span("approve", 2900, 5900, {"spanbridge.step_type": "interrupt", "spanbridge.interrupt.prompt": "The card was declined. Use the other one?",
           "spanbridge.interrupt.response": text({"approved": True, "card": 2}), "spanbridge.interrupt.wait_ms": 2750}, root)
    c.span("card", 6000, 6001, {"spanbridge.step_type": "state_change", "spanbridge.state.key": "card", "spanbridge.state.old_value": "1",
           "spanbridge.state.new_value": "2", "spanbridge.state.reason": "declined"}, root)
    c.span("remember", 6100, 6200, {"spanbridge.step_type": "memory_write", "spanbridge.memory.operation": "update", "spanbridge.memory.entity_type": "preference",
           "spanbridge.memory.entity_id": "u-1", "spanbridge.memory.namespace": text(["users", "u-1"]), "spanbridge.memory.key": "card",
           "spanbridge.memory.data": text({"card": 2}), "spanbridge.memory.changes": text([{"path": "$.card", "old_value": 1, "new_value": 2}])}, root)
    history = [SYSTEM, ask, said, chat("tool", text({"booking": "X1"}), call_id="call_1"), chat("tool", "Error: card declined", call_id="call_2")]
    c.span("ChatOpenAI", 6300, 8900, llm(history, chat("assistant", "Booked AV 9 for 320 USD."), (150, 33), llm__cost__total=0.002, llm__finish_reason="stop"), root)


def memory():
    c = Case(2, "made-memory", "Memory reads and writes", """
In OTel GenAI's terms: `search_memory`, `create_memory`, `update_memory`, `upsert_memory`, `delete_memory`; one more read is inside a tool.
ContextForge: `memory_read` and `memory_write` (create and upsert are `add`); Reflex: `retrieve` and `other`; OpenReward and Invariant: a
synthesized pair for each separate one, nothing for the one inside the tool; Synth: environment and runtime events.""")
    ask = chat("user", "Where do I like to sit?")
    root = c.span("invoke_agent keeper", 0, 5000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "keeper", "gen_ai.conversation.id": "m-1"})
    c.span("search_memory", 100, 200, {"gen_ai.operation.name": "search_memory", "gen_ai.memory.query.text": "seat", "gen_ai.memory.store.id": "prefs",
           "gen_ai.memory.records": text([{"id": "r1", "content": "aisle", "score": 0.8}, {"id": "r2", "content": "window", "score": 0.1}])}, root)
    said = chat("assistant", calls=[("call_1", "lookup", {"user": "u-1"})])
    c.span("chat gpt-4o", 300, 900, genai([ask], said, (20, 9), finish="tool_calls"), root)
    t = c.span("execute_tool lookup", 1000, 1500, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "call_1",
               "gen_ai.tool.call.arguments": text({"user": "u-1"}), "gen_ai.tool.call.result": text({"seat": "aisle"})}, root)
    c.span("search_memory", 1100, 1400, {"gen_ai.operation.name": "search_memory", "gen_ai.memory.query.text": "u-1",
           "gen_ai.memory.records": text([{"id": "r1", "content": "aisle"}])}, t)
    for i, (op, extra) in enumerate([
            ("create_memory", {"spanbridge.memory.data": text({"seat": "aisle"}), "gen_ai.memory.type": "preference", "gen_ai.memory.id": "r3"}),
            ("update_memory", {"spanbridge.memory.data": text({"seat": "window"}), "gen_ai.memory.type": "preference", "gen_ai.memory.id": "r3",
                               "spanbridge.memory.changes": text([{"path": "$.seat", "old_value": "aisle", "new_value": "window"}])}),
            ("upsert_memory", {"spanbridge.memory.data": text({"meal": "vegan"}), "gen_ai.memory.type": "preference"}),
            ("delete_memory", {"gen_ai.memory.type": "preference", "gen_ai.memory.id": "r1"})]):
        c.span(op, 1600 + 100 * i, 1650 + 100 * i, {"gen_ai.operation.name": op, **extra}, root, (ERROR, "no such record") if op == "delete_memory" else None)
    c.span("chat gpt-4o", 2100, 4900, genai([ask, said, chat("tool", {"seat": "aisle"}, call_id="call_1")], chat("assistant", "By the aisle."), (40, 5)), root)


def handoff():
    c = Case(3, "made-handoff", "A handoff between two agents", """
The first agent's model requests `transfer_to_billing`; after a HANDOFF operation, the second agent continues with the same history. The
user's question and the history occur once. ContextForge has a `state_change` of `active_agent`, Reflex an `agent` node for the handoff and
one for each agent; in OpenReward and Invariant the transfer call has its result.""")
    ask = chat("user", "I was charged twice.")
    root = c.span("support", 0, 6000, {"openinference.span.kind": "CHAIN", "session.id": "h-1", "input.value": ask["content"], "output.value": "Refunded."})
    triage = c.span("triage", 100, 2000, agent("triage"), root)
    said = chat("assistant", calls=[("call_t", "transfer_to_billing", {})])
    c.span("response", 200, 1200, llm([chat("system", "You are triage."), ask], said, (30, 8)), triage)
    c.span("handoff to billing", 1300, 1310, {"gen_ai.operation.name": "agent_handoff", "gen_ai.handoff.from_agent": "triage", "gen_ai.handoff.to_agent": "billing"}, triage)
    billing = c.span("billing", 2100, 5900, agent("billing"), root)
    moved = chat("tool", '{"assistant":"billing"}', call_id="call_t")
    pay = chat("assistant", calls=[("call_r", "refund", {"charge": "c-2"})])
    c.span("response", 2200, 3200, llm([chat("system", "You are billing."), ask, said, moved], pay, (50, 9)), billing)
    c.span("refund", 3300, 3900, tool("refund", "call_r", {"charge": "c-2"}, {"refunded": True}), billing)
    c.span("response", 4000, 5800, llm([chat("system", "You are billing."), ask, said, moved, pay, chat("tool", '{"refunded":true}', call_id="call_r")],
           chat("assistant", "Refunded."), (70, 3)), billing)


def guardrail():
    c = Case(4, "made-guardrail", "Guardrails, one that passes and one that blocks", """
A guardrail on the input passes, one on the output fails and blocks (`spanbridge.terminated`). No ContextForge step, but metadata;
Reflex `other`; OpenReward: the verdict in `extra` of the guarded MESSAGE; Synth: a RuntimeEvent, and an EnvironmentEvent with
`terminated` for the one that blocks.""")
    ask = chat("user", "What is my colleague's salary?")
    root = c.span("hr", 0, 3000, agent("hr", ask["content"]), None, (ERROR, "output guardrail tripped"))
    c.span("on_topic", 100, 200, {"openinference.span.kind": "GUARDRAIL", "input.value": ask["content"], "output.value": text({"passed": True}), "output.mime_type": "application/json"}, root)
    c.span("ChatOpenAI", 300, 1500, llm([ask], chat("assistant", "It is 100."), (12, 4)), root)
    c.span("no_secrets", 1600, 1700, {"openinference.span.kind": "GUARDRAIL", "input.value": "It is 100.", "output.value": text({"passed": False, "reason": "salary"}),
           "output.mime_type": "application/json", "spanbridge.terminated": True}, root, (ERROR, "output guardrail tripped"))


def evaluation():
    c = Case(5, "made-evaluation-reward", "Evaluations and rewards", """
An EVALUATOR span judges the answer, the model call carries `evaluations.*`, a log record `gen_ai.evaluation.result` names a span, turns
have rewards and the last one ends the episode; the root has the run's reward and the reference output. OpenReward: `extra.reward` on the
judged block; Synth: EnvironmentEvent `reward` of the turn, `session_metadata` for the run; Invariant: annotations where the container
has them; ContextForge: run metadata; Reflex: `ideal`.""")
    ask = chat("user", "2 + 2?")
    root = c.span("solver", 0, 4000, agent("solver", "2 + 2?", "4", spanbridge__reward=1.0, spanbridge__ideal="4"))
    said = chat("assistant", calls=[("call_1", "add", {"a": 2, "b": 2})])
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (10, 8), spanbridge__reward=0.25), root)
    c.span("add", 1000, 1100, tool("add", "call_1", {"a": 2, "b": 2}, 4, spanbridge__reward=0.5), root)
    last = c.span("ChatOpenAI", 1200, 2000, llm([ask, said, chat("tool", "4", call_id="call_1")], chat("assistant", "4"), (25, 1), spanbridge__reward=-0.125,
                  spanbridge__terminated=True, **{"evaluations.0.evaluation.name": "correctness", "evaluations.0.evaluation.score": 1.0,
                  "evaluations.0.evaluation.label": "pass", "evaluations.0.evaluation.explanation": "4 is 4", "evaluations.0.evaluation.annotator_kind": "CODE"}), root)
    c.span("judge", 2100, 2500, {"openinference.span.kind": "EVALUATOR", "input.value": "4", "output.value": text({"score": 0.75}), "output.mime_type": "application/json",
           "evaluations.0.evaluation.name": "brevity", "evaluations.0.evaluation.score": 0.75}, root)
    c.log(2600, "gen_ai.evaluation.result", last, None, {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.5,
          "gen_ai.evaluation.score.label": "partial", "gen_ai.evaluation.explanation": "short"})


def prompts():
    c = Case(6, "made-prompts", "Prompt ids, templates and optimize", """
A PROMPT span gives its id to the next model call; two calls share `spanbridge.prompt_id` planner and one of the two says `optimize`
(Reflex: all nodes of a prompt id share it); one call has only a template (a hash becomes its prompt id); one names a prompt by `prompt.id`.
`spanbridge.step` overrides the counted turn, and a tool inherits its turn's.""")
    ask = chat("user", "Plan.")
    root = c.span("planner", 0, 9000, agent("planner", "Plan.", "Done."))
    c.span("prompts/get", 100, 110, {"openinference.span.kind": "PROMPT", "prompt.id": "greeting-v2", "llm.prompt_template.template": "Greet {name}.",
           "llm.prompt_template.variables": text({"name": "Ana"})}, root)
    c.span("ChatOpenAI", 200, 900, llm([ask], chat("assistant", "Hello Ana."), (5, 3)), root)
    step = [ask, chat("assistant", "Hello Ana."), chat("user", "Go on.")]
    said = chat("assistant", calls=[("call_1", "act", {"n": 1})])
    c.span("ChatOpenAI", 1000, 1900, llm(step, said, (11, 6), spanbridge__prompt_id="planner", spanbridge__optimize=True, spanbridge__step=7), root)
    c.span("act", 2000, 2100, tool("act", "call_1", {"n": 1}, "ok"), root)
    step += [said, chat("tool", "ok", call_id="call_1")]
    c.span("ChatOpenAI", 2200, 2900, llm(step, chat("assistant", "Step two."), (20, 3), spanbridge__prompt_id="planner"), root)
    step += [chat("assistant", "Step two."), chat("user", "Now sum up.")]
    c.span("ChatOpenAI", 3000, 3900, llm(step, chat("assistant", "Summary."), (30, 2), **{"llm.prompt_template.template": "Sum up: {text}",
           "llm.prompt_template.version": "3", "llm.prompt_template.variables": text({"text": "all"})}), root)
    step += [chat("assistant", "Summary."), chat("user", "Thanks.")]
    c.span("ChatOpenAI", 4000, 4900, llm(step, chat("assistant", "Done."), (40, 2), prompt__id="closing"), root)


def token_ids():
    c = Case(7, "made-token-ids", "Token ids and log probabilities", """
One call has token ids of prompt and completion and log probabilities in `spanbridge.*` keys, one has log probabilities only in the
provider's response body. Synth has a place for them (`token_traces`); elsewhere they are in metadata or reported.""")
    ask = chat("user", "Say yes.")
    root = c.span("sampler", 0, 3000, agent("sampler", "Say yes.", "Yes."))
    c.span("vllm", 100, 900, llm([ask], chat("assistant", "Yes"), (3, 1), "llama-3", spanbridge__token_ids__prompt=text([128000, 46864, 10035]),
           spanbridge__token_ids__completion=text([9642]), spanbridge__logprobs=text([{"token": "Yes", "logprob": -0.25, "top_logprobs": [{"token": "Yes", "logprob": -0.25}, {"token": "No", "logprob": -1.5}]}])), root)
    body = {"id": "chatcmpl-7", "object": "chat.completion", "model": "gpt-4o", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Yes."}, "logprobs": {"content": [{"token": "Yes", "logprob": -0.125}, {"token": ".", "logprob": 0.0}]}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}
    c.span("ChatOpenAI", 1000, 2900, llm([ask, chat("assistant", "Yes"), chat("user", "With a full stop.")], chat("assistant", "Yes."), (9, 2), output__value=text(body), output__mime_type="application/json"), root)


def images():
    c = Case(8, "made-images", "Images and other media", """
A user message of text and two images (a URL, and bytes as a data URL), a system prompt of several texts, a second question with only an
image, and in the second trace a GenAI call with a blob, a uri, a file and audio. ContextForge and Reflex keep the chat shape; Invariant has
only the parts text and image_url; OpenReward a marked text with the original in `raw`; Synth content parts.""")
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    system = chat("system", parts=[{"type": "text", "text": "You see."}, {"type": "text", "text": "Be brief."}])
    ask = chat("user", parts=[{"type": "text", "text": "What is on these?"}, {"type": "image", "image.image.url": "https://example.com/a.png"},
               {"type": "image", "image.image.url": "data:image/png;base64," + pixel}])
    root = c.span("eye", 0, 4000, agent("eye"))
    c.span("ChatOpenAI", 100, 900, llm([system, ask], chat("assistant", "A cat and a dot."), (800, 6)), root)
    more = chat("user", parts=[{"type": "image", "image.image.url": "https://example.com/b.png"}])
    c.span("ChatOpenAI", 1000, 1900, llm([system, ask, chat("assistant", "A cat and a dot."), more], chat("assistant", "A dog."), (1200, 3)), root)
    media = chat("user", parts=[{"type": "text", "content": "And these?"}, {"type": "blob", "modality": "image", "mime_type": "image/png", "content": pixel},
                 {"type": "uri", "modality": "image", "mime_type": "image/jpeg", "uri": "gs://bucket/c.jpg"},
                 {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "UklGRg=="},
                 {"type": "file", "modality": "document", "mime_type": "application/pdf", "file_id": "file-1"}])
    other = c.span("invoke_agent ear", 0, 2000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ear"}, trace=2)
    c.span("chat gpt-4o", 100, 1900, genai([media], chat("assistant", "A dot, a photo, a sound, a paper."), (900, 12)), other, trace=2)


def limits():
    c = Case(9, "made-limits", "OpenReward's limits, one byte below, at and above", """
With lowered limits (`options.json`): a message of 31, 32 and 33 bytes, thoughts of 15, 16 and 17 bytes, arguments and results likewise, and
texts that would be cut inside a character of two or four bytes. Nothing is shortened: long messages and thoughts are split, long results
become several `delta` blocks, and long arguments a placeholder with the original in `raw`. The defaults are tested in `tests/limits.rs`,
which builds its spans in memory.""",
             options={"openreward.limit_msg_bytes": "32", "openreward.limit_think_bytes": "16",
                      "openreward.limit_tool_args_bytes": "24", "openreward.limit_tool_result_bytes": "20"})
    root = c.span("limits", 0, 20000, agent("limits"))
    history, at = [], 100
    for n in (31, 32, 33):
        history.append(chat("user", "u" * n))
        said = chat("assistant", "a" * n, reasoning="t" * (n - 16))
        c.span("ChatOpenAI", at, at + 90, llm(history, said, (n, n)), root)
        history.append(said)
        at += 100
    history.append(chat("user", "é" * 17 + "😀"))
    said = chat("assistant", "😀" * 9, reasoning="a" + "é" * 8)
    c.span("ChatOpenAI", at, at + 90, llm(history, said, (1, 1)), root)
    history += [said, chat("user", "Now tools.")]
    at += 100
    # {"k":"..."} is eight bytes and the text; a JSON string as a result is measured without quotes
    calls = [(f"call_{n}", "args", {"k": "x" * (n - 8)}) for n in (23, 24, 25)]
    results = {call_id: "r" * n for (call_id, _, _), n in zip(calls, (19, 20, 21))}
    calls.append(("call_obj", "object", {}))
    results["call_obj"] = text({"rows": [1, 2, 3], "name": "é😀é😀"})
    calls.append(("call_wide", "wide", {}))
    results["call_wide"] = "é" * 7 + "😀" * 7
    said = chat("assistant", calls=calls)
    c.span("ChatOpenAI", at, at + 90, llm(history, said, (2, 2)), root)
    for i, (call_id, name, arguments) in enumerate(calls):
        c.span(name, at + 100 + i, at + 150 + i, tool(name, call_id, arguments, results[call_id] if call_id != "call_obj" else json.loads(results[call_id])), root)
    history += [said] + [chat("tool", r, call_id=i) for i, r in results.items()]
    c.span("ChatOpenAI", at + 200, at + 300, llm(history, chat("assistant", "End."), (3, 1)), root)


def history_edited():
    c = Case(10, "made-history-edited", "An edited history", """
The third call's input has the first answer with different text: the conversation branches there. Messages before the branch occur once, the
changed message occurs again, marked, and nothing after it is repeated; the finding `history_branch` names the call.""")
    q1, a1, q2, a2 = chat("user", "Name a river."), chat("assistant", "The Rhine."), chat("user", "Another."), chat("assistant", "The Elbe.")
    root = c.span("geo", 0, 5000, agent("geo"))
    c.span("ChatOpenAI", 100, 900, llm([SYSTEM, q1], a1, (10, 3)), root)
    c.span("ChatOpenAI", 1000, 1900, llm([SYSTEM, q1, a1, q2], a2, (20, 3)), root)
    c.span("ChatOpenAI", 2000, 2900, llm([SYSTEM, q1, chat("assistant", "The river Rhine."), q2, a2, chat("user", "A third.")], chat("assistant", "The Oder."), (30, 3)), root)


def history_truncated():
    c = Case(11, "made-history-truncated", "A truncated history", """
The third call drops the oldest turns and keeps the system prompt, the fourth replaces them with a summary. No earlier message is repeated;
new messages (the summary, the new questions) follow a marked branch.""")
    root = c.span("geo", 0, 6000, agent("geo"))
    said, at = [], 100
    for n, (q, a) in enumerate([("Name a river.", "The Rhine."), ("Another.", "The Elbe."), ("A third.", "The Oder."), ("A fourth.", "The Spree.")]):
        before = {0: [], 1: said, 2: said[2:], 3: [chat("system", "Summary: Rhine, Elbe, Oder.")]}[n]
        c.span("ChatOpenAI", at, at + 900, llm([SYSTEM, *before, chat("user", q)], chat("assistant", a), (10 * (n + 1), 3)), root)
        said = said + [chat("user", q), chat("assistant", a)]
        at += 1000


def same_call_ids():
    c = Case(12, "made-two-subagents-same-call-ids", "Two sub-agents with the same call ids", """
A supervisor calls two agents as tools, at the same time; inside, both use the call ids `call_1` and `call_2`, and the supervisor itself
used `call_1` for the first of them. No call gets another agent's result. OpenReward: one TOOL_CALL per (trace, call id), so ids of inner
turns are qualified by their scope and the original is in metadata; `metadata.subagent` of the TOOL_RESULT contains all inner turns;
Invariant likewise; Synth: inner events with their own `system_instance_id`.""")
    ask = chat("user", "Compare Bogotá and Lima.")
    root = c.span("supervisor", 0, 9000, agent("supervisor", ask["content"], "Lima is drier."))
    said = chat("assistant", calls=[("call_1", "researcher", {"city": "Bogotá"}), ("call_2", "researcher", {"city": "Lima"})])
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (20, 10)), root)
    for n, (city, rain, start) in enumerate([("Bogotá", 800, 1000), ("Lima", 16, 1000)]):
        answer = f"{city}: {rain} mm."
        t = c.span("researcher", start, 5000 + n, tool("researcher", f"call_{n + 1}", {"city": city}, answer), root)
        inner = c.span("researcher", start + 10, 4900 + n, agent("researcher", city, answer), t)
        q = chat("user", f"Rain in {city}?")
        calls = chat("assistant", calls=[("call_1", "rain", {"city": city}), ("call_2", "people", {"city": city})])
        c.span("ChatOpenAI", start + 100, start + 900, llm([chat("system", "You research."), q], calls, (15, 12)), inner)
        c.span("rain", start + 1000, start + 1500, tool("rain", "call_1", {"city": city}, {"mm": rain}), inner)
        c.span("people", start + 1000, start + 1600, tool("people", "call_2", {"city": city}, {"millions": 8 + n}), inner)
        c.span("ChatOpenAI", start + 2000, start + 3000, llm([chat("system", "You research."), q, calls, chat("tool", text({"mm": rain}), call_id="call_1"),
               chat("tool", text({"millions": 8 + n}), call_id="call_2")], chat("assistant", answer), (40, 8)), inner)
    c.span("ChatOpenAI", 6000, 8900, llm([ask, said, chat("tool", "Bogotá: 800 mm.", call_id="call_1"), chat("tool", "Lima: 16 mm.", call_id="call_2")],
           chat("assistant", "Lima is drier."), (60, 4)), root)


def turn(c, root, at, ask, reply, **where):
    return c.span("ChatOpenAI", at, at + 400, llm([chat("user", ask)], chat("assistant", reply), (5, 2)), root, **where)


def parent_cycle():
    c = Case(13, "made-parent-cycle", "Spans that are their own ancestors", """
Three spans form a ring and one span is its own parent. The ring is cut at its earliest span, which becomes a root, with a finding; no
span is lost and no document has a cycle.""")
    ids = [f"{13:04x}0001{n:08x}" for n in (0xa1, 0xa2, 0xa3, 0xa4)]
    c.span("outer", 0, 3000, agent("outer", "Hello?", "Hello."), ids[2], span_id=ids[0])
    c.span("middle", 100, 2000, {"openinference.span.kind": "CHAIN"}, ids[0], span_id=ids[1])
    c.span("ChatOpenAI", 200, 1000, llm([chat("user", "Hello?")], chat("assistant", "Hello."), (2, 2)), ids[1], span_id=ids[2])
    c.span("look", 1500, 1600, tool("look", None, {"at": "self"}, "seen"), ids[3], span_id=ids[3])


def dangling():
    c = Case(14, "made-dangling-parents", "Parents that never came", """
The root was not exported: two siblings name a missing parent, one span's parent is sixteen zeros, one has none. Nothing is lost; a span
with a missing parent becomes a root, with a finding.""")
    gone = "00f067aa0ba902b7"
    t = chat("assistant", calls=[("call_1", "clock", {})])
    c.span("ChatOpenAI", 0, 900, llm([chat("user", "What time is it?")], t, (6, 4), session__id="d-1"), gone)
    c.span("clock", 1000, 1100, tool("clock", "call_1", {}, "10:00"), gone)
    c.span("ChatOpenAI", 1200, 1900, llm([chat("user", "What time is it?"), t, chat("tool", "10:00", call_id="call_1")], chat("assistant", "Ten."), (14, 2)), "0000000000000000")
    c.span("log", 2000, 2001, {"app.note": "nothing of agents"}, None)


def duplicates():
    c = Case(15, "made-duplicate-spans", "The same span id with other bodies", """
A span arrives twice with the same bytes (no finding), and once as still running. Another span arrives twice with different output: the one
that ended later counts, and a finding names the other. Each model call occurs once.""")
    root = c.span("twice", 0, 4000, agent("twice", "Go.", "Done."))
    a = c.span("ChatOpenAI", 100, 900, llm([chat("user", "Go.")], chat("assistant", calls=[("call_1", "work", {"n": 1})]), (3, 5)), root)
    c.spans.append(c.spans[-1])
    c.span("ChatOpenAI", 100, None, llm([chat("user", "Go.")], chat("assistant", "unfinished"), (3, 1)), root, span_id=a)
    w = c.span("work", 1000, 1500, tool("work", "call_1", {"n": 1}, "early"), root)
    c.span("work", 1000, 1600, tool("work", "call_1", {"n": 1}, "late"), root, span_id=w)
    c.span("ChatOpenAI", 2000, 3900, llm([chat("user", "Go."), chat("assistant", calls=[("call_1", "work", {"n": 1})]), chat("tool", "late", call_id="call_1")], chat("assistant", "Done."), (9, 1)), root)


def end_before_start():
    c = Case(16, "made-end-before-start", "Ends before starts, and clocks that disagree", """
A tool ends before its start, a child starts before its parent and ends after it. Durations are never negative, requests and responses
determine the order, and each problem has a finding.""")
    root = c.span("clocks", 1000, 3000, agent("clocks", "Go.", "Done."))
    said = chat("assistant", calls=[("call_1", "work", {})])
    c.span("ChatOpenAI", 500, 1400, llm([chat("user", "Go.")], said, (3, 5)), root)
    c.span("work", 1600, 1500, tool("work", "call_1", {}, "ok"), root)
    c.span("ChatOpenAI", 1700, 3500, llm([chat("user", "Go."), said, chat("tool", "ok", call_id="call_1")], chat("assistant", "Done."), (9, 1)), root)


def running():
    c = Case(17, "made-running-root", "A run that still runs", """
The root and a tool have no end yet. ContextForge has no `ended_at` or `final_output`, Reflex nodes have no `ended_at`; the call of the
running tool has no result yet.""")
    root = c.span("worker", 0, None, agent("worker", "Count the files."))
    c.span("ChatOpenAI", 100, 900, llm([chat("user", "Count the files.")], chat("assistant", calls=[("call_1", "list", {"dir": "."})]), (5, 7)), root)
    c.span("list", 1000, None, tool("list", "call_1", {"dir": "."}), root)


def plain():
    c = Case(18, "made-plain-spans", "A trace without an agent", """
Three spans of a web server and a database, without agent operations: no format makes a document.""")
    root = c.span("GET /", 0, 100, {"http.request.method": "GET", "model": "T", "input": "x", "result": "y"}, kind=2, scope="http")
    c.span("SELECT", 10, 20, {"db.system": "sqlite", "query": "SELECT 1"}, root, kind=3, scope="db")
    c.span("render", 30, 90, {}, root, scope="http")


def retries():
    c = Case(19, "made-retries", "Retries with the same call id and with a new one", """
`call_1` runs three times and finally succeeds; `call_2` fails, and the model retries as `call_3`. OpenReward: one TOOL_CALL with results
`seq` 0, 1, 2; Invariant: the last result, the earlier in metadata; ContextForge: each run is a step; nothing is merged across ids.""")
    ask = chat("user", "Fetch a and b.")
    root = c.span("fetcher", 0, 9000, agent("fetcher", ask["content"], "Both fetched."))
    one = chat("assistant", calls=[("call_1", "fetch", {"url": "a"}), ("call_2", "fetch", {"url": "b"})])
    c.span("ChatOpenAI", 100, 900, llm([ask], one, (8, 12)), root)
    for n in range(3):
        failed = n < 2
        c.span("fetch", 1000 + 300 * n, 1200 + 300 * n, tool("fetch", "call_1", {"url": "a"}, None if failed else "A"), root, (ERROR, f"timeout {n}") if failed else None)
    c.span("fetch", 1000, 1900, tool("fetch", "call_2", {"url": "b"}), root, (ERROR, "refused"))
    two = chat("assistant", calls=[("call_3", "fetch", {"url": "b"})])
    so_far = [ask, one, chat("tool", "A", call_id="call_1"), chat("tool", "Error: refused", call_id="call_2")]
    c.span("ChatOpenAI", 2000, 2900, llm(so_far, two, (30, 8)), root)
    c.span("fetch", 3000, 3200, tool("fetch", "call_3", {"url": "b"}, "B"), root)
    c.span("ChatOpenAI", 4000, 8900, llm(so_far + [two, chat("tool", "B", call_id="call_3")], chat("assistant", "Both fetched."), (50, 3)), root)


def mixed():
    c = Case(20, "made-mixed-dialects", "Several dialects on one span", """
The model call has OpenInference, OTel GenAI and OpenLLMetry keys at once, with the same messages and slightly different token counts: the
lower rank wins, nothing is added up and no message is repeated. The tool span has GenAI and OpenInference keys that disagree on the name.
The agent also has short field names.""")
    ask = chat("user", "Two plus two?")
    said = chat("assistant", calls=[("call_1", "add", {"a": 2, "b": 2})])
    root = c.span("calc", 0, 4000, {**agent("calc"), "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "other name", "input": "Two plus two?", "output": "4"})
    both = {**llm([ask], said, (10, 8)), **genai([ask], said, (11, 9), finish="tool_calls"), "gen_ai.usage.prompt_tokens": 12, "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Two plus two?", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls"}
    c.span("chat", 100, 900, both, root)
    c.span("add", 1000, 1100, {**tool("add", "call_1", {"a": 2, "b": 2}, 4), "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "adder",
           "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.result": "4"}, root)
    c.span("chat", 1200, 1900, genai([ask, said, chat("tool", "4", call_id="call_1")], chat("assistant", "4"), (30, 1)), root)


def own_keys():
    c = Case(21, "made-own-keys", "A user's own keys", """
Attributes that no dialect knows, of every OTLP type, on each kind of span: nothing is dropped silently. They are in the format's metadata
if it has any. Keys of the short dialect on a span without a kind stay the user's own; an unknown `step_type` is a finding.""")
    own = {"acme.tier": "gold", "acme.retries": 3, "acme.ratio": 0.5, "acme.ok": True, "acme.list": ["a", "b"], "acme.map": {"x": 1, "y": [True, None]},
           "acme.bytes": b"\x00\xff", "acme.empty": None, "acme.nan": float("nan"), "acme.big": 2**53 + 1, "acme.json": '{"a":1}', "model": "T-800"}
    root = c.span("own", 0, 3000, {**agent("own", "Hi.", "Hello."), **own, "metadata": text({"team": "blue"}), "tag.tags": ["nightly", "eu"]})
    c.span("ChatOpenAI", 100, 900, {**llm([chat("user", "Hi.")], chat("assistant", calls=[("call_1", "greet", {})]), (2, 5)), "acme.tier": "silver", "acme.map": {"z": {"deep": [1, [2]]}}}, root)
    c.span("greet", 1000, 1100, {**tool("greet", "call_1", {}, "done"), "acme.node": "n1"}, root)
    c.span("cache", 1150, 1160, {"acme.hit": False, "result": "nothing", "step_type": "thinking"}, root)
    c.span("ChatOpenAI", 1200, 1900, llm([chat("user", "Hi."), chat("assistant", calls=[("call_1", "greet", {})]), chat("tool", "done", call_id="call_1")], chat("assistant", "Hello."), (9, 2)), root)


def no_ids():
    c = Case(22, "made-no-call-ids", "Calls without ids", """
Neither the model's calls nor the tool spans have ids; two of the three calls have the same name and the same arguments. They are matched by
name, canonical arguments (the key order differs) and order, and each result occurs once. Ids are derived, never random.""")
    ask = chat("user", "Roll twice, then look up 6.")
    said = chat("assistant", calls=[(None, "roll", {"sides": 6, "dice": 1}), (None, "roll", {"dice": 1, "sides": 6}), (None, "lookup", {"n": 6})])
    root = c.span("dice", 0, 4000, agent("dice", ask["content"], "6, 2, half a dozen."))
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (9, 20)), root)
    c.span("lookup", 1000, 1100, tool("lookup", None, {"n": 6}, "half a dozen"), root)
    c.span("roll", 1001, 1101, tool("roll", None, '{"dice": 1, "sides": 6}', "6"), root)
    c.span("roll", 1002, 1102, tool("roll", None, {"sides": 6, "dice": 1}, "2"), root)
    c.span("ChatOpenAI", 2000, 3900, llm([ask, said, chat("tool", "6"), chat("tool", "2"), chat("tool", "half a dozen")], chat("assistant", "6, 2, half a dozen."), (40, 9)), root)


def parallel():
    c = Case(23, "made-parallel-equal-times", "Parallel calls at equal times", """
Four calls in one output; their spans have the same start and the same end to the nanosecond, were exported in another order, and one is
the child of another. Order: the index of the call in the output, parent before child.""")
    ask = chat("user", "All four.")
    calls = [(f"call_{n}", f"t{n}", {"n": n}) for n in (1, 2, 3, 4)]
    root = c.span("four", 0, 3000, agent("four", ask["content"], "Ok."))
    c.span("ChatOpenAI", 0, 500, llm([ask], chat("assistant", calls=calls), (3, 30)), root)
    ids = {}
    for n in (4, 2, 1):
        ids[n] = c.span(f"t{n}", 600, 700, tool(f"t{n}", f"call_{n}", {"n": n}, f"r{n}"), root)
    c.span("t3", 600, 700, tool("t3", "call_3", {"n": 3}, "r3"), ids[2])
    c.span("ChatOpenAI", 700, 3000, llm([ask, chat("assistant", calls=calls)] + [chat("tool", f"r{n}", call_id=f"call_{n}") for n in (2, 1, 4, 3)], chat("assistant", "Ok."), (40, 2)), root)


def searching():
    c = Case(24, "made-retrieval-rerank-embedding", "Retrievals alone and inside a tool, a reranker, embeddings", """
A retriever inside a TOOL span (two steps in ContextForge and Reflex, one pair in OpenReward and Invariant), a separate one with a score
above 1 and a document without content, a reranker, and an embedding, whose vectors are not in any document.""")
    def docs(prefix, rows):
        return {f"{prefix}.{i}.document.{k}": v for i, row in enumerate(rows) for k, v in row.items()}
    ask = chat("user", "What does rule 7 say?")
    root = c.span("lawyer", 0, 6000, agent("lawyer", ask["content"], "Rule 7 says no."))
    e = c.span("embed", 10, 50, {"openinference.span.kind": "EMBEDDING", "embedding.model_name": "text-embedding-3-small", "llm.token_count.prompt": 6,
               "embedding.embeddings.0.embedding.text": ask["content"], "embedding.embeddings.0.embedding.vector": [0.25, -0.5]}, root)
    c.span("search", 60, 200, {"openinference.span.kind": "RETRIEVER", "input.value": "rule 7", **docs("retrieval.documents", [
           {"id": "r7", "content": "Rule 7: no.", "score": 12.5, "metadata": text({"law": "x"})}, {"id": "r8", "score": 0.25}, {"content": "Rule 9."}])}, root)
    c.span("rerank", 210, 300, {"openinference.span.kind": "RERANKER", "reranker.query": "rule 7", "reranker.model_name": "rerank-3", "reranker.top_k": 1,
           **docs("reranker.input_documents", [{"id": "r7", "content": "Rule 7: no."}, {"content": "Rule 9."}]),
           **docs("reranker.output_documents", [{"id": "r7", "content": "Rule 7: no.", "score": 0.99}])}, root)
    said = chat("assistant", calls=[("call_1", "cases", {"rule": 7})])
    c.span("ChatOpenAI", 400, 900, llm([ask], said, (50, 9)), root)
    t = c.span("cases", 1000, 2000, tool("cases", "call_1", {"rule": 7}, ["A v. B"]), root)
    c.span("search", 1100, 1900, {"openinference.span.kind": "RETRIEVER", "input.value": "cases on rule 7", **docs("retrieval.documents", [{"content": "A v. B", "score": 0.5}])}, t)
    c.span("ChatOpenAI", 2100, 5900, llm([ask, said, chat("tool", '["A v. B"]', call_id="call_1")], chat("assistant", "Rule 7 says no."), (70, 6)), root)


def agent_only():
    c = Case(25, "made-agent-only", "Only agent and chain spans hold the words", """
No model call was recorded: only the AGENT span has the question and the answer, a tool ran without a request, and in the second trace a
failed model call has neither content nor answer. Nothing is invented: question and answer occur once, and the tool call is synthesized if
the format requires one.""")
    root = c.span("crew", 0, 3000, agent("crew", text({"topic": "rivers", "lines": 2}), "The Rhine.\nThe Elbe.", input__mime_type="application/json"))
    c.span("flow", 100, 2900, {"openinference.span.kind": "CHAIN", "input.value": "rivers", "output.value": "two lines"}, root)
    c.span("atlas", 200, 300, tool("atlas", None, "rivers of Germany", ["Rhine", "Elbe"]), root)
    other = c.span("crew", 0, 1000, agent("crew", "Hello?"), None, (ERROR, "401 no key"), trace=2)
    c.span("ChatOpenAI", 100, 900, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o"}, other, (ERROR, "401 no key"),
           [exception(890, "AuthenticationError", "401 no key")], trace=2)


def session():
    c = Case(26, "made-session", "A session of three traces", """
Three traces with one session id: each extends the previous conversation. There is still one document per trace, made from that trace only:
the second and third contain the history that their model calls received.""")
    said = []
    for n, (q, a) in enumerate([("I am Ana.", "Hello Ana."), ("Who am I?", "Ana."), ("Bye.", "Bye, Ana.")]):
        root = c.span("talk", 10_000 * n, 10_000 * n + 2000, agent("talk", q, a, session__id="talk-1"), trace=n + 1)
        c.span("ChatOpenAI", 10_000 * n + 100, 10_000 * n + 1900, llm([*said, chat("user", q)], chat("assistant", a), (5 + 9 * n, 3)), root, trace=n + 1)
        said = said + [chat("user", q), chat("assistant", a)]


def odd_values():
    c = Case(27, "made-odd-values", "Values at the edges of JSON and of OTLP", """
Arguments that are not objects (a list, text, a number, none, broken JSON), results of every JSON type and an empty one, blank texts, NaN as
a score, control characters, an integer beyond 53 bits, keys with dots, a nested value as kvlist instead of JSON text, a duplicate key,
reasoning with a signature but no text, and a second requested choice.""")
    ask = chat("user", "  \n ")
    calls = [("c_list", "f", "[1,2]"), ("c_text", "f", '"Paris"'), ("c_num", "f", "7"), ("c_none", "f", None), ("c_broken", "f", '{"a":'), ("c_big", "f", '{"n":9007199254740993,"a.b":{"":1.0}}')]
    said = chat("assistant", " ", calls=calls)
    root = c.span("odd", 0, 5000, agent("odd", "tab\tnul-free \u0001 \u2028 end", "", session__id=""))
    extra = flat("llm.output_messages", [said, chat("assistant", "A second choice.")])
    c.span("ChatOpenAI", 100, 900, list({**llm([SYSTEM, ask], said, (0, 0), spanbridge__reward=float("nan"), llm__invocation_parameters=text({"n": 2})), **extra}.items()) + [("llm.model_name", "the-last-one-holds"),
           ("acme.kv", {"a": [1, {"b": None}]})], root)
    results = {"c_list": None, "c_text": "", "c_num": "0", "c_none": "null", "c_broken": "plain \u0007 bell", "c_big": '{"n":9007199254740993,"x":[null,1.0,1]}'}
    for i, (call_id, name, arguments) in enumerate(calls):
        more = {"output.mime_type": "application/json"} if results[call_id] and results[call_id][0] in "0n{" else {}
        c.span(name, 1000 + i, 1100 + i, {**tool(name, call_id, arguments, results[call_id]), **more}, root)
    thought = {"type": "reasoning", "signature": "c2ln"}
    last = [SYSTEM, ask, said] + [chat("tool", r or "", call_id=i) for i, r in results.items()]
    c.span("ChatOpenAI", 2000, 4900, llm(last, chat("assistant", parts=[thought, {"type": "text", "text": "Odd."}]), (1, 1)), root)


def short_words():
    c = Case(28, "made-short-words", "The short words", """
An agent written by hand, in ContextForge's field names: `step_type` and the fields of every step, with no other dialect. A failure is
`success` false and `error`; the status stays unset.""")
    root = c.span("run", 0, 6000, {"step_type": "agent", "agent_name": "by-hand", "input": "Ship it.", "output": "Shipped.", "session_id": "sw-1", "user_id": "u-9"}, scope="app")
    c.span("llm", 100, 900, {"step_type": "llm_call", "model": "gpt-4o", "provider": "openai", "tokens_in": 12, "tokens_out": 7, "cost_estimate": 0.001,
           "input": text([{"role": "user", "content": "Ship it."}]), "output": text({"role": "assistant", "content": None, "tool_calls": [
               {"id": "call_1", "type": "function", "function": {"name": "ship", "arguments": "{\"to\":\"prod\"}"}},
               {"id": "call_2", "type": "function", "function": {"name": "notify", "arguments": "{}"}}]}), "prompt_id": "ship-v1", "optimize": True, "step": 1}, root, scope="app")
    c.span("ship", 1000, 1500, {"step_type": "tool_call", "tool_name": "ship", "tool_call_id": "call_1", "arguments": text({"to": "prod"}), "result": "ok", "success": True}, root, scope="app")
    c.span("notify", 1000, 1400, {"step_type": "tool_call", "tool_name": "notify", "tool_call_id": "call_2", "arguments": "{}", "success": False, "error": "no channel"}, root, scope="app")
    c.span("search", 1600, 1700, {"step_type": "retrieval", "query": "docs", "results": text([{"content": "How to ship.", "score": 0.5}]), "match_count": 4}, root, scope="app")
    c.span("recall", 1700, 1800, {"step_type": "memory_read", "query": "owner", "results": text([{"owner": "Ana"}]), "relevance_scores": text([0.75]), "total_available": 2, "match_count": 1}, root, scope="app")
    c.span("note", 1800, 1900, {"step_type": "memory_write", "entity_type": "fact", "entity_id": "f-1", "operation": "add", "data": text({"shipped": True})}, root, scope="app")
    c.span("mode", 1900, 1901, {"step_type": "state_change", "state_key": "mode", "old_value": "plan", "new_value": "act", "reason": "asked"}, root, scope="app")
    c.span("ask", 2000, 2900, {"step_type": "interrupt", "prompt": "Sure?", "response": "yes", "wait_duration_ms": 850}, root, scope="app")
    c.span("llm", 3000, 3900, {"step_type": "llm_call", "model": "gpt-4o", "provider": "openai", "tokens_in": 30, "tokens_out": 2,
           "input": text([{"role": "user", "content": "Ship it."}, {"role": "assistant", "content": None, "tool_calls": [
               {"id": "call_1", "type": "function", "function": {"name": "ship", "arguments": "{\"to\":\"prod\"}"}},
               {"id": "call_2", "type": "function", "function": {"name": "notify", "arguments": "{}"}}]},
               {"role": "tool", "tool_call_id": "call_1", "content": "ok"}, {"role": "tool", "tool_call_id": "call_2", "content": "error: no channel"}]),
           "output": text({"role": "assistant", "content": "Shipped.", "tool_calls": None})}, root, scope="app")


def no_content():
    c = Case(29, "made-no-content", "No content was captured", """
Model calls with models, tokens and finish reasons but no messages, a tool with only a name. ContextForge: `input` [], `output` "",
`metadata.content_captured` false; no user input or final output is invented.""")
    root = c.span("invoke_agent silent", 0, 3000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "silent"}, scope="opentelemetry.util.genai.handler")
    for at, reason in ((100, "tool_calls"), (1500, "stop")):
        c.span("chat gpt-4o", at, at + 800, {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 10,
               "gen_ai.usage.output_tokens": 0, "gen_ai.response.finish_reasons": [reason]}, root, scope="opentelemetry.util.genai.handler")
    c.span("execute_tool ping", 1000, 1400, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ping", "gen_ai.tool.call.id": "call_1"}, root, scope="opentelemetry.util.genai.handler")


def log_events():
    c = Case(30, "made-log-events", "Content in log records", """
The model call's messages are log records that name the span, in the old form (one per message) for the first call and in one
`gen_ai.client.inference.operation.details` record for the second; a stray record names a missing span.""")
    root = c.span("invoke_agent logger", 0, 3000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "logger"}, scope="app")
    bare = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 4}
    a = c.span("chat gpt-4o", 100, 900, bare, root, scope="opentelemetry.instrumentation.openai_v2")
    b = c.span("chat gpt-4o", 1000, 1900, {**bare, "gen_ai.provider.name": "openai"}, root, scope="opentelemetry.util.genai.handler")
    c.log(101, "gen_ai.system.message", a, {"content": "You plan trips."}, {"gen_ai.system": "openai"})
    c.log(102, "gen_ai.user.message", a, {"content": "Hello?"}, {"gen_ai.system": "openai"})
    c.log(890, "gen_ai.choice", a, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}, {"gen_ai.system": "openai"})
    c.log(1890, "gen_ai.client.inference.operation.details", b, None, {
        "gen_ai.input.messages": [{"role": "system", "parts": [{"type": "text", "content": "You plan trips."}]}, {"role": "user", "parts": [{"type": "text", "content": "Hello?"}]},
                                  {"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}, {"role": "user", "parts": [{"type": "text", "content": "Bye."}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Bye!"}], "finish_reason": "stop"}]})
    c.log(500, "gen_ai.choice", f"{30:04x}0001ffffffff", {"index": 0, "message": {"role": "assistant", "content": "lost"}})


def interrupts():
    c = Case(31, "made-interrupts-and-states", "Interrupts, states and what is falsy", """
An interrupt without an answer, one with text, states with values false, 0, "", the text "false", an empty map and none, on steps and on a
CHAIN. Falsy values are ordinary values; a state without a new value does not become a ContextForge step, which would not load.""")
    root = c.span("machine", 0, 5000, agent("machine", "Start.", "Stopped."))
    c.span("ask", 100, 200, {"spanbridge.step_type": "interrupt", "spanbridge.interrupt.prompt": "Go?"}, root)
    c.span("ask", 300, 1300, {"spanbridge.step_type": "interrupt", "spanbridge.interrupt.prompt": "Which?", "spanbridge.interrupt.response": "the second", "spanbridge.interrupt.wait_ms": 0}, root)
    for i, (key, old, new) in enumerate([("on", True, False), ("count", 3, 0), ("name", "x", ""), ("text", "true", "false"), ("owner", {"name": "Ana"}, {})]):
        c.span("state", 1400 + i, 1400 + i, {"spanbridge.step_type": "state_change", "spanbridge.state.key": key, "spanbridge.state.old_value": old, "spanbridge.state.new_value": new}, root)
    c.span("state", 1500, 1501, {"spanbridge.step_type": "state_change", "spanbridge.state.key": "gone"}, root)
    c.span("node", 1600, 1700, {"openinference.span.kind": "CHAIN", "spanbridge.state.key": "phase", "spanbridge.state.old_value": "1", "spanbridge.state.new_value": "2"}, root)
    turn(c, root, 2000, "Start.", "Stopped.")


def nested():
    c = Case(32, "made-nested-tools-and-wrappers", "One call told by several spans", """
A framework's LLM span around the SDK's LLM span (same response id), a TOOL span around an MCP client span and an MCP server span of
another service: one model call, one tool call, with the other spans as evidence and the server's name kept. Token sums on the AGENT and
CHAIN spans are not added again.""")
    ask = chat("user", "Read a.txt.")
    said = chat("assistant", calls=[("call_1", "read_file", {"path": "a.txt"})])
    root = c.span("reader", 0, 4000, {**agent("reader", ask["content"], "It is empty."), "llm.token_count.prompt": 45, "llm.token_count.completion": 12, "llm.token_count.total": 57})
    chain = c.span("graph", 50, 3950, {"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 45, "llm.token_count.completion": 12}, root)
    body = {"id": "chatcmpl-n1", "model": "gpt-4o-2024-08-06"}
    outer = c.span("ChatOpenAI", 100, 900, llm([ask], said, (15, 9), output__value=text(body), output__mime_type="application/json"), chain)
    c.span("chat gpt-4o", 110, 890, {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o-2024-08-06",
           "gen_ai.response.id": "chatcmpl-n1", "gen_ai.usage.input_tokens": 15, "gen_ai.usage.output_tokens": 9, "gen_ai.response.finish_reasons": ["tool_calls"]}, outer, kind=3, scope="opentelemetry.util.genai.handler")
    t = c.span("read_file", 1000, 1900, tool("read_file", "call_1", {"path": "a.txt"}, "(empty)"), chain)
    m = c.span("MCP send tools/call read_file", 1010, 1890, {"mcp.method.name": "tools/call", "gen_ai.tool.name": "read_file", "gen_ai.operation.name": "execute_tool", "mcp.session.id": "x"}, t, kind=3, scope="mcp-python-sdk")
    c.span("tools/call read_file", 1020, 1880, {"mcp.method.name": "tools/call", "gen_ai.tool.name": "read_file", "gen_ai.operation.name": "execute_tool"}, m, kind=2, scope="mcp-python-sdk")
    c.span("ChatOpenAI", 2000, 3900, llm([ask, said, chat("tool", "(empty)", call_id="call_1")], chat("assistant", "It is empty."), (30, 3)), chain)


def failures():
    c = Case(33, "made-failures", "Errors that every ancestor repeats", """
A tool fails with an exception event, and the chain and the agent repeat its error; a model call fails at the end. The error stays on the
deepest span and the run is marked failed once; a tool with an error in its result but status OK is not treated as failed.""")
    ask = chat("user", "Divide by zero.")
    said = chat("assistant", calls=[("call_1", "divide", {"a": 1, "b": 0}), ("call_2", "report", {"level": "error"})])
    root = c.span("maths", 0, 4000, agent("maths", ask["content"]), None, (ERROR, "rate limited"), [exception(3990, "RateLimitError", "rate limited")])
    chain = c.span("graph", 50, 3950, {"openinference.span.kind": "CHAIN"}, root, (ERROR, "rate limited"), [exception(3940, "RateLimitError", "rate limited")])
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (10, 20)), chain, (OK, None))
    c.span("divide", 1000, 1100, tool("divide", "call_1", {"a": 1, "b": 0}, error__type="ZeroDivisionError"), chain, (ERROR, None), [exception(1090, "ZeroDivisionError", "division by zero")])
    c.span("report", 1000, 1050, tool("report", "call_2", {"level": "error"}, {"status": "error", "rows": 0}), chain, (OK, None))
    c.span("ChatOpenAI", 2000, 3900, {**{k: v for k, v in llm([ask, said, chat("tool", "ZeroDivisionError: division by zero", call_id="call_1"), chat("tool", text({"status": "error", "rows": 0}), call_id="call_2")],
           chat("assistant")).items() if not k.startswith("llm.output")}}, chain, (ERROR, "rate limited"), [exception(3890, "RateLimitError", "rate limited")])


def messages_only():
    c = Case(34, "made-tools-seen-in-messages", "Tool runs that only messages tell of", """
Only a client library's spans, each model call a child of a plain HTTP span: no TOOL span. The runs come from the next call's tool messages,
timed between the calls; the last call's own tool call has no result. `metadata.observed` is "messages" if the format has it.""")
    ask = chat("user", "Weather in Bogotá and Lima?")
    said = chat("assistant", "Let me look.", calls=[("call_1", "weather", {"city": "Bogotá"}), ("call_2", "weather", {"city": "Lima"})])
    root = c.span("POST /ask", 0, 4000, {"http.request.method": "POST"}, kind=2, scope="http")
    c.span("ChatOpenAI", 100, 900, llm([SYSTEM, ask], said, (20, 22)), root)
    so_far = [SYSTEM, ask, said, chat("tool", text({"c": 22}), call_id="call_1"), chat("tool", "Error: unknown city", call_id="call_2")]
    c.span("ChatOpenAI", 1500, 2400, llm(so_far, chat("assistant", "22 °C in Bogotá; Lima again.", calls=[("call_3", "weather", {"city": "Lima, PE"})]), (50, 20)), root)


def handoff_calls():
    c = Case(35, "made-handoff-calls", "Which call a handoff belongs to", """
TOOL spans named `handoff to <agent>`, as OpenInference writes them, and calls without ids. Code started the first handoff, before any model
request: it belongs to no call. The model then requests `transfer_to_billing` and `delegate_to_billing`: the following handoffs belong to
these calls in order.""")
    ask = chat("user", "I was charged twice.")
    root = c.span("desk", 0, 4000, agent("desk", ask["content"], "Refunded."))
    moved = {"openinference.span.kind": "TOOL", "input.value": "desk", "output.value": "billing"}
    c.span("handoff to billing", 50, 60, moved, root)
    said = chat("assistant", calls=[(None, "transfer_to_billing", {}), (None, "delegate_to_billing", {"charge": "c-2"})])
    c.span("response", 100, 900, llm([ask], said, (30, 8)), root)
    c.span("handoff to billing", 1000, 1010, moved, root)
    c.span("handoff to billing", 1100, 1110, moved, root)
    c.span("response", 2000, 2500, llm([ask, said], chat("assistant", "Refunded."), (40, 3)), root)


def judges():
    c = Case(60, "made-judges-beside-an-agent", "Who checks an agent is not who answers", """
A pipeline with a guardrail around a model call, an agent, an evaluator whose model grades the answer, and a grading model call that no span
marks as such. Question and answer are the agent's, conversations are in order of their start, and the run has the name of the agent, not of
the evaluator's agent.

A second trace of the same program: LangGraph's own nodes with names that clients mark as agents, and a tool that passes the run to the
parent graph by an exception. These nodes are not agents, and nothing failed.""")
    ask = chat("user", "What do the docs say on span links?")
    answer = chat("assistant", "They join spans of several traces.")
    pipeline = c.span("pipeline", 0, 9000, {"openinference.span.kind": "CHAIN", "input.value": ask["content"], "output.value": answer["content"]})
    guard = c.span("topic check", 100, 900, {"openinference.span.kind": "GUARDRAIL"}, pipeline)
    c.span("ChatOpenAI", 200, 800, llm([chat("system", "Answer safe or unsafe."), ask], chat("assistant", "safe"), (20, 1)), guard)
    docs = c.span("docs", 1000, 3000, agent("docs", ask["content"], answer["content"]), pipeline)
    c.span("ChatOpenAI", 1100, 2900, llm([chat("system", "You answer from the docs."), ask], answer, (30, 8)), docs)
    judge = c.span("relevance", 4000, 6000, {"openinference.span.kind": "EVALUATOR", "eval.name": "relevance", "eval.score": 0.9}, pipeline)
    grader = c.span("grader", 4100, 5900, agent("grader"), judge)
    graded = [chat("system", "Grade from 0 to 1."), ask, answer, chat("user", "Grade the answer.")]
    c.span("ChatOpenAI", 4200, 5800, llm(graded, chat("assistant", "0.9"), (50, 2)), grader)
    c.span("ChatOpenAI", 7000, 8000, llm([chat("system", "Is the tone friendly?"), chat("user", answer["content"])], chat("assistant", "yes"), (25, 1)), pipeline)

    where = {"trace": 2}
    root = c.span("LangGraph", 0, 9000, {"openinference.span.kind": "CHAIN"}, **where)
    c.span("__start__", 10, 20, {"openinference.span.kind": "AGENT"}, root, **where)
    alice = c.span("alice", 100, 3000, agent("alice"), root, **where)
    hello = chat("user", "I was charged twice.")
    asked = chat("assistant", calls=[("call_1", "transfer_to_bob", {})])
    c.span("ChatOpenAI", 200, 900, llm([hello], asked, (20, 8)), alice, **where)
    passes = [exception(1900, "langgraph.errors.ParentCommand", "Command(graph='__parent__', update={'active_agent': 'bob'}, goto='bob')")]
    tools = c.span("tools", 1000, 2000, {"openinference.span.kind": "CHAIN"}, alice, (ERROR, "ParentCommand(Command(graph='__parent__'))"), passes, **where)
    c.span("transfer_to_bob", 1100, 1900, tool("transfer_to_bob", "call_1", {}, "Successfully transferred to bob"), tools, **where)
    c.span("RunnableSequence", 2100, 2200, {"openinference.span.kind": "AGENT"}, alice, **where)
    bob = c.span("bob", 4000, 8000, agent("bob"), root, **where)
    c.span("ChatOpenAI", 4100, 7900, llm([hello, asked, chat("tool", "Successfully transferred to bob", call_id="call_1")], chat("assistant", "You get it back."), (40, 6)), bob, **where)


def rivers(numbered=False):
    """Turns of an agent that looks rivers up: the call, whether it fails, and its answer as the next request has it."""
    turns = []
    for n, (river, failed) in enumerate([("Rhine", False), ("Styx", True), ("Elbe", False), ("Rhine", False), ("Oder", False)]):
        call_id = "call_0" if numbered else f"call_{n:02d}a51f3c9e7d24"
        words = "no such river" if failed else f"{river}: {1000 + n} km"
        turns.append((call_id, river, failed, chat("assistant", "Let me look that up.", calls=[(call_id, "length", {"river": river})]), chat("tool", words, call_id=call_id)))
    return turns


def look_up(c, root, at, turn, **where):
    call_id, river, failed, _, result = turn
    c.span("length", at, at + 50, tool("length", call_id, {"river": river}, None if failed else result["content"]), root,
           (ERROR, result["content"]) if failed else None, **where)


def history_compacted():
    c = Case(71, "made-history-compacted", "A history put together as a summary", """
From the fourth request on, a summary replaces the first two turns, and from the fifth all but the last; the fourth requests the first tool
again, with another id. The two summary requests belong to the same agent. Each of the five tool runs occurs once, the failed one as failed;
the summaries follow a marked branch.""")
    ask, turns = chat("user", "How long are these rivers?"), rivers()
    root = c.span("geo", 0, 9000, agent("geo", ask["content"], "Done."))
    history, at = [ask], 100
    for n, turn in enumerate([*turns, None]):
        if n in (3, 4):
            words = f"Summary {n}: the user asks for the lengths of rivers."
            c.span("ChatOpenAI", at, at + 100, llm([chat("user", "Summarize: " + " ".join(m["content"] for m in history[:-2]))], chat("assistant", words), (50, 9)), root)
            history = [chat("user", words), *history[-2:]]
        said = turn[3] if turn else chat("assistant", "Done.")
        c.span("ChatOpenAI", at + 200, at + 500, llm([SYSTEM, *history], said, (10 * len(history), 5)), root)
        if turn:
            look_up(c, root, at + 600, turn)
            history = [*history, said, turn[4]]
        at += 1000


def history_cut_attributes():
    c = Case(72, "made-history-cut-attributes", "Attributes lost to the SDK's limit", """
The SDK keeps the newest attributes of a span and counts what it dropped: later requests start in the middle of the history, one with the
system prompt's text but no role, one with a tool result without its call's id. The missing parts occurred before, and nothing is repeated;
there is no branch, because nothing was edited. The tools have no spans.""")
    ask, turns = chat("user", "How long are these rivers?"), rivers()
    root = c.span("geo", 0, 9000, agent("geo", ask["content"], "Done."))
    history = [SYSTEM, ask]
    for n, turn in enumerate([*turns, None]):
        said = turn[3] if turn else chat("assistant", "Done.")
        attrs = llm(history, said, (10 * len(history), 5))
        lost = {2: ["0.message.role"], 3: ["0.", "1.", "2.", "3.message.role", "3.message.tool_call_id"], 4: ["0.", "1.", "2.", "3.", "4."], 5: ["0.", "1."]}.get(n, [])
        gone = [k for k in attrs if any(k.startswith("llm.input_messages." + start) for start in lost)]
        c.span("ChatOpenAI", 1000 * n + 100, 1000 * n + 500, {k: v for k, v in attrs.items() if k not in gone}, root, dropped=len(gone))
        if turn:
            history = [*history, said, turn[4]]


def call_ids_restart():
    c = Case(73, "made-call-ids-restart", "A model that numbers its calls from 0 in every answer", """
Every call has the id `call_0`, the first and fourth also the same arguments. From the third request on, the history's start is cut. Each
tool's span belongs to the turn before it, each result to its own call; there are five runs, one of them failed.""")
    ask, turns = chat("user", "How long are these rivers?"), rivers(numbered=True)
    root = c.span("geo", 0, 9000, agent("geo", ask["content"], "Done."))
    history = []
    for n, turn in enumerate([*turns, None]):
        said = turn[3] if turn else chat("assistant", "Done.")
        c.span("ChatOpenAI", 1000 * n + 100, 1000 * n + 500, llm([SYSTEM, ask, *history[-4:]], said, (10, 5)), root)
        if turn:
            look_up(c, root, 1000 * n + 600, turn)
            history = [*history, said, turn[4]]


def call_ids_of_agents():
    c = Case(74, "made-call-ids-across-agents", "The same call ids in a supervisor and its sub-agents", """
A supervisor and two sub-agents inside its tools, without their own spans, all number their calls from 1. The supervisor itself once calls
the sub-agents' tool, with an id that one of them uses. Name and arguments decide which call a tool's span belongs to, and if these agree,
the nearest call in the tree.""")
    ask = chat("user", "What do tides and moons weigh?")
    root = c.span("supervisor", 0, 9000, agent("supervisor", ask["content"], "Nothing."))
    said = chat("assistant", calls=[("call_1", "ask_researcher", {"topic": "tides"}), ("call_2", "ask_researcher", {"topic": "moons"})])
    c.span("ChatOpenAI", 100, 400, llm([ask], said, (10, 5)), root)
    results = []
    for n, topic in enumerate(["tides", "moons"]):
        outer = c.span("ask_researcher", 500 + n, 3000 + n, tool("ask_researcher", f"call_{n + 1}", {"topic": topic}, f"{topic}: nothing"), root)
        question, inner = chat("user", topic), chat("assistant", calls=[("call_1", "search", {"q": "weight"})])
        c.span("ChatOpenAI", 600 + n, 900 + n, llm([question], inner, (10, 5)), outer)
        c.span("search", 1000 + n, 1100 + n, tool("search", "call_1", {"q": "weight"}, f"weight of {topic}"), outer)
        c.span("ChatOpenAI", 1200 + n, 2900 + n, llm([question, inner, chat("tool", f"weight of {topic}", call_id="call_1")], chat("assistant", f"{topic}: nothing"), (20, 5)), outer)
        results.append(chat("tool", f"{topic}: nothing", call_id=f"call_{n + 1}"))
    again = chat("assistant", calls=[("call_1", "search", {"q": "weight"})])
    c.span("ChatOpenAI", 4000, 4400, llm([ask, said, *results], again, (30, 5)), root)
    c.span("search", 4500, 4600, tool("search", "call_1", {"q": "weight"}, "weight of all"), root)
    c.span("ChatOpenAI", 5000, 5400, llm([ask, said, *results, again, chat("tool", "weight of all", call_id="call_1")], chat("assistant", "Nothing."), (40, 5)), root)


def answer_in_pieces():
    c = Case(75, "made-answer-in-pieces", "One answer in several messages, and several answers", """
First trace: the Responses API returns thought, text, calls and text as separate messages: one answer, in this order. The provider keeps the
history (`previous_response_id`): the second request has only the results, matched to their calls by id. Second trace: two choices were
requested, and stay two.""")
    ask = chat("user", "Weather in Bogotá and Lima?")
    root = c.span("weather", 0, 5000, agent("weather", ask["content"], "22 and 19 degrees."))
    pieces = [chat("assistant", reasoning="Both are asked for."), chat("assistant", "I look both up."),
              chat("assistant", calls=[("call_b", "get_weather", {"city": "Bogotá"})]), chat("assistant", calls=[("call_l", "get_weather", {"city": "Lima"})]),
              chat("assistant", "One moment.")]
    first = {**genai([ask], pieces[0], (20, 30), gen_ai__response__id="resp_1"), "gen_ai.output.messages": parts(pieces, "stop")}
    c.span("chat gpt-4o", 100, 900, first, root, scope="made.genai")
    second = genai([chat("tool", "22", call_id="call_b"), chat("tool", "19", call_id="call_l")], chat("assistant", "22 and 19 degrees."), (60, 9), gen_ai__response__id="resp_2")
    c.span("chat gpt-4o", 1000, 1900, {**second, "gen_ai.request.previous_response.id": "resp_1"}, root, scope="made.genai")
    root = c.span("namer", 0, 2000, agent("namer", "Name a river."), trace=2)
    two = {**genai([chat("user", "Name a river.")], pieces[0], (5, 4)), "gen_ai.request.choice.count": 2,
           "gen_ai.output.messages": parts([chat("assistant", "Rhine."), chat("assistant", "Elbe.")], "stop")}
    c.span("chat gpt-4o", 100, 900, two, root, scope="made.genai", trace=2)


def words_of_agents():
    c = Case(94, "made-words-of-agents", "Questions, answers and calls that agents tell themselves", """
The question and the answer of a run are those of its agent: in the first trace, its model only classifies the question, and the metadata of
model and tool is not the run's. In the others, an agent's span describes calls without spans: a remote agent with a system prompt and
tokens, an SDK that records the messages around its tools, a workflow; a call without content between them, an answer generated in the
background and fetched later, and a graph step named like an agent.""")
    root = c.span("desk", 0, 4000, agent("desk", "Where is my order 17?", "Dear Ann, order 17 arrives Friday.", metadata=text({"tenant": "t1"})))
    asked = dict(llm([chat("user", "Classify: Where is my order 17?")], chat("assistant", "ORDER_STATUS"), (9, 2)), metadata=text({"attempt": 1}))
    c.span("ChatOpenAI", 100, 900, asked, root)
    c.span("orders", 1000, 1100, tool("orders", None, {"order": 17}, "Friday", metadata=text({"cache": "hit"})), root)
    alone = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "gen_ai.request.model": "gpt-5", "gen_ai.conversation.id": "thread-1",
             "gen_ai.system_instructions": text([{"type": "text", "content": "Be short."}, {"type": "text", "content": "Be kind."}]),
             "gen_ai.input.messages": parts([chat("user", "Capital of Norway?")]), "gen_ai.output.messages": parts([chat("assistant", "Oslo, of course.")]),
             "gen_ai.usage.input_tokens": 80, "gen_ai.usage.output_tokens": 20, "gen_ai.agent.version": "2.1"}
    c.span("invoke_agent helper", 0, 1000, alone, scope="remote", trace=2)
    said = [chat("assistant", "Two readings are needed."), chat("assistant", None, [("r1", "read", {"of": "pump"})]), chat("assistant", None, [("r2", "read", {"of": "water"})]), chat("assistant", "All is well.")]
    sdk = agent("pond", "How is the pond?", "All is well.", llm__model_name="claude-sonnet-4-6", **{"llm.token_count.completion": 140, "llm.cost.total": 0.0123})
    sdk.update(flat("llm.output_messages", said))
    root = c.span("query", 0, 6000, sdk, trace=3)
    c.span("read", 2000, 3000, tool("read", "r1", {"of": "pump"}, "on"), root, trace=3)
    c.span("read", 3000, 4000, tool("read", "r2", {"of": "water"}, "19 C"), root, trace=3)
    c.span("invoke_workflow tea", 0, 500, {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "tea", "gen_ai.input.messages": parts([chat("system", "Be kind."), chat("user", "Tea?")]), "gen_ai.output.messages": parts([chat("assistant", "With milk.")])}, scope="remote", trace=4)
    root = c.span("invoke_agent port", 0, 2000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "port", "gen_ai.input.messages": parts([chat("user", "Book berth 12.")]), "gen_ai.output.messages": parts([chat("assistant", "Berth 12 is yours.")]), "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 6}, scope="remote", trace=5)
    c.span("chat m", 100, 1900, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, root, scope="remote", trace=5)
    root = c.span("invoke_agent later", 0, 2000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "later"}, scope="remote", trace=6)
    c.span("chat m", 100, 200, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "resp_1", "gen_ai.input.messages": parts([chat("user", "Book it in the background.")])}, root, scope="remote", trace=6)
    c.span("fetch_response", 1000, 1100, {"gen_ai.operation.name": "fetch_response", "gen_ai.response.id": "resp_1", "gen_ai.output.messages": parts([chat("assistant", "Booked.")])}, root, scope="remote", trace=6)
    root = c.span("LangGraph", 0, 3000, {"openinference.span.kind": "CHAIN", "input.value": "Which tram?", "output.value": "Tram 7."}, trace=7)
    c.span("route_to_agent", 100, 200, {"openinference.span.kind": "AGENT", "input.value": text({"to": "transport"}), "input.mime_type": "application/json", "output.value": text({"result": "done"}), "output.mime_type": "application/json"}, root, trace=7)
    c.span("ChatOpenAI", 300, 900, llm([chat("user", "Which tram?")], chat("assistant", "Tram 7."), (4, 3)), root, trace=7)


def calls_that_continue_nothing():
    c = Case(95, "made-calls-that-continue-nothing", "Model calls of one agent that have nothing to do with one another", """
A call whose input repeats neither an earlier answer nor earlier user text is a separate conversation. In the first trace, a question is
rewritten, answered under another prompt, and gets a title after the agent's answer. In the second, the later calls of two sub-agents are
below the root: they continue their agents' conversations. In the third, an exchange is recorded as the output of one call.""")
    root = c.span("invoke_agent rag", 0, 3000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "rag", "gen_ai.output.messages": parts([chat("assistant", "Oslo [1].")])}, scope="rag")
    c.span("chat m", 100, 500, genai([chat("system", "Rewrite the question for search."), chat("user", "And its capital?")], chat("assistant", "capital of Norway"), (9, 3)), root, scope="rag")
    c.span("chat m", 600, 1500, genai([chat("system", "Answer from the sources."), chat("user", "[1] Oslo\nAnd its capital?")], chat("assistant", "Oslo [1]."), (20, 4)), root, scope="rag")
    c.span("chat m", 1600, 1900, genai([chat("system", "Write a title."), chat("user", "And its capital? Oslo [1].")], chat("assistant", "Norway's capital"), (12, 4)), root, scope="rag")

    root = c.span("invoke_agent lead", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "lead"}, scope="cli", trace=2)
    first = chat("user", "Summarise with two helpers.")
    tasks = chat("assistant", None, [("t1", "task", {"part": 1}), ("t2", "task", {"part": 2})])
    c.span("chat m", 100, 900, genai([first], tasks, (20, 9), finish="tool_calls"), root, scope="cli", trace=2)
    for n in (1, 2):
        ran = c.span("execute_tool task", 1000 + n, 5000 + n, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "task", "gen_ai.tool.call.id": f"t{n}", "gen_ai.tool.call.arguments": text({"part": n}), "gen_ai.tool.call.result": f"summary {n}"}, root, scope="cli", trace=2)
        sub = c.span("invoke_agent task", 1010 + n, 4900 + n, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "task", "gen_ai.agent.id": f"sub{n}"}, ran, scope="cli", trace=2)
        asked, look = chat("user", f"Summarise part {n}."), chat("assistant", None, [(f"g{n}", "log", {"n": n})])
        c.span("chat m", 1100 + n, 1500 + n, genai([asked], look, (9, 3), finish="tool_calls"), sub, scope="cli", trace=2)
        c.span("execute_tool log", 1600 + n, 1700 + n, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "log", "gen_ai.tool.call.id": f"g{n}", "gen_ai.tool.call.arguments": text({"n": n}), "gen_ai.tool.call.result": f"log {n}"}, sub, scope="cli", trace=2)
        c.span("chat m", 2000 + n, 4000 + n, genai([asked, look, chat("tool", f"log {n}", call_id=f"g{n}")], chat("assistant", f"summary {n}"), (20, 4)), root, scope="cli", trace=2)
    results = [chat("tool", f"summary {n}", call_id=f"t{n}") for n in (1, 2)]
    c.span("chat m", 6000, 8000, genai([first, tasks, *results], chat("assistant", "Both agree."), (60, 4)), root, scope="cli", trace=2)

    whole = genai([chat("user", "Is the hut open?")], chat("assistant", None, [("h1", "hut", {"of": "north"})]), (9, 9))
    whole["gen_ai.output.messages"] = parts([chat("assistant", None, [("h1", "hut", {"of": "north"})]), chat("tool", "open until 17:00", call_id="h1"), chat("assistant", "Yes, until 17:00.")])
    c.span("chat m", 0, 900, whole, scope="hut", trace=3)


def asked_around(parts=lambda role, said: text([{"role": role, "parts": [{"type": "text", "content": said}]}])):
    c = Case(160, "made-asked-around-agents", "What workflows around agents and models were asked", """
A workflow with the question and the answer, around agents with other questions; a workflow whose only argument is the question; a template
filled with one word; messages as pairs of role and text; a graph node named like an agent.""")
    otel = "my.workflow"
    w = c.span("invoke_workflow trip", 0, 9000, {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "trip", "gen_ai.input.messages": parts("user", "Book me a bed"), "gen_ai.output.messages": parts("assistant", "Bed 2 in hut 4 is yours.")}, scope=otel)
    c.span("invoke_agent booker", 10, 8000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "booker", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "gen_ai.input.messages": parts("user", "Book a bed for one"), "gen_ai.output.messages": parts("assistant", "Hut 4, bed 2.")}, w, scope=otel)

    def llm(asked, answered):
        return {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", **flat("llm.input_messages", [chat("user", asked)]), **flat("llm.output_messages", [chat("assistant", answered)])}
    for trace, given, asked in ((2, {"question": "Who keeps the lock?"}, "Context: Marta has the key.\nQuestion: Who keeps the lock?\nUse the context alone, and say so where it has no answer."), (3, {"args": ["Tell of eels"], "kwargs": {}}, "Write a sentence on eels"), (4, {"input": "France"}, "What is the capital of France?")):
        chain = c.span("RunnableSequence", 0, 5000, {"openinference.span.kind": "CHAIN", "input.value": text(given), "input.mime_type": "application/json", "output.value": "So it is."}, trace=trace)
        c.span("ChatOpenAI", 100, 4000, llm(asked, "So it is."), chain, trace=trace)
    graph = c.span("graph", 0, 9000, {"openinference.span.kind": "CHAIN", "input.value": text({"messages": [["user", "Wind?"]]}), "input.mime_type": "application/json"}, trace=5)
    node = c.span("agent_router", 10, 900, {"openinference.span.kind": "CHAIN", "metadata": text({"langgraph_node": "agent_router", "langgraph_step": 1})}, graph, trace=5)
    c.span("ChatOpenAI", 20, 800, llm("Wind?", "Northwest."), node, trace=5)


def nobodys_words(parts=lambda role, said: text([{"role": role, "parts": [{"type": "text", "content": said}]}])):
    c = Case(161, "made-printed-objects", "Texts that programs print of values", """
Printed objects as messages, input or output are not read as text. A tool may return such text. An input on a span without a kind is
reported.""")
    agent = c.span("agent", 0, 9000, {"openinference.span.kind": "AGENT", "input.value": "<app.Request object at 0x7f3a>", "output.value": "It is open."})
    c.span("chat", 10, 900, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": "<unserializable: MessageList>", "gen_ai.output.messages": text([{"role": "assistant", "parts": [{"type": "tool_call", "id": "k", "name": "look", "arguments": {}}]}])}, agent)
    c.span("look", 1000, 1100, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "k", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "<Door object at 0x7f3b>"}, agent)
    c.span("helper", 1200, 1300, {"input": "words of a helper"}, agent)
    c.span("ChatOpenAI", 1400, 1900, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "input.value": "[object Object],[object Object]", **flat("llm.output_messages", [chat("assistant", "It is open.")])}, agent)


def keys_of_old_clients():
    c = Case(162, "made-keys-of-old-clients", "Keys of clients that are no longer made, or write no recording", """
Prompt flow with attributes and with events, Pydantic Evals, Sentry's spans before GenAI's, Semantic Kernel 1.0.""")
    flow = "promptflow"
    at = c.span("flow", 0, 5000, {"framework": flow, "span_type": "Flow", "inputs": text({"question": "Is the kiln hot?"}), "output": text({"answer": "Yes, 900 C."})}, scope=flow)
    c.span("gauge", 10, 20, {"framework": flow, "span_type": "Tool", "function": "gauge", "inputs": text({"kiln": 2}), "output": "900"}, at, scope=flow)
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is the kiln hot?"}]}
    c.span("Completions.create", 30, 1900, {"framework": flow, "span_type": "LLM", "function": "Completions.create", "inputs": text(request), "output": text({"choices": [{"message": {"role": "assistant", "content": "Yes, 900 C."}, "finish_reason": "stop"}]}), "llm.usage.prompt_tokens": 8, "llm.usage.completion_tokens": 4, "llm.response.model": "gpt-4o"}, at, scope=flow)
    at = c.span("flow", 0, 5000, {"framework": flow, "span_type": "Flow"}, scope=flow, trace=2, events=[(1, "promptflow.function.inputs", {"payload": text({"question": "Is it hot?"})}), (4000, "promptflow.function.output", {"payload": text({"answer": "Yes."})})])
    c.span("create", 20, 1900, {"framework": flow, "span_type": "LLM", "llm.usage.prompt_tokens": 8, "llm.usage.completion_tokens": 1}, at, scope=flow, trace=2, events=[(21, "promptflow.function.inputs", {"payload": text({"model": "gpt-4o", "messages": [{"role": "user", "content": "Is it hot?"}]})}), (1800, "promptflow.llm.generated_message", {"payload": text({"role": "assistant", "content": "Yes."})})])
    evals = "pydantic-evals"
    at = c.span("evaluate {name}", 0, 9000, {"name": "geo"}, scope=evals, trace=3)
    at = c.span("case: {case_name}", 10, 8000, {"inputs": text("Capital of Peru?"), "expected_output": text("Lima"), "output": text("Lima"), "assertions": text({"Equals": {"name": "Equals", "value": True, "reason": None}}), "scores": text({"near": {"name": "near", "value": 0.9, "reason": "close"}}), "labels": text({"tone": {"name": "tone", "value": "dry"}})}, at, scope=evals, trace=3)
    at = c.span("agent run", 30, 4000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "geo_agent", "final_result": "Lima"}, at, scope="pydantic-ai", trace=3)
    said = [{"role": role, "parts": [{"type": "text", "content": words}]} for role, words in (("user", "Capital of Peru?"), ("assistant", "Lima"))]
    c.span("chat gpt-4o", 40, 3000, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": text(said[:1]), "gen_ai.output.messages": text(said[1:])}, at, scope="pydantic-ai", trace=3)
    c.span("chat", 10, 2000, {"sentry.op": "ai.chat_completions.create.openai", "ai.model_id": "gpt-4o", "ai.input_messages": text([{"role": "user", "content": "hello"}]), "ai.responses": text(["hi"]), "ai.prompt_tokens.used": 7, "ai.completion_tokens.used": 2, "ai.total_tokens.used": 9}, scope="sentry", trace=4)
    c.span("chat.completions gpt-4", 1, 900, {"gen_ai.operation.name": "chat.completions", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4", "gen_ai.response.prompt_tokens": 16, "gen_ai.response.completion_tokens": 28}, scope="Microsoft.SemanticKernel.Diagnostics", trace=5, events=[(2, "gen_ai.content.prompt", {"gen_ai.prompt": text([{"role": "user", "content": "Why is the sky blue?"}])}), (800, "gen_ai.content.completion", {"gen_ai.completion": text([{"role": "Assistant", "content": "Rayleigh."}])})])


for make in (every_step, memory, handoff, guardrail, evaluation, prompts, token_ids, images, limits, history_edited, history_truncated, same_call_ids, parent_cycle,
             dangling, duplicates, end_before_start, running, plain, retries, mixed, own_keys, no_ids, parallel, searching, agent_only, session, odd_values,
             short_words, no_content, log_events, interrupts, nested, failures, messages_only, handoff_calls):
    make()

def server_tools():
    c = Case(61, "made-server-tools", "Tools that the provider runs", """
One answer of OpenAI's Responses API as OTel GenAI writes it (one part per tool, with call and outcome), the same as OpenInference writes it
(calls flattened, outcomes only in `output.value`), one answer in Anthropic's blocks and one in Gemini's parts. Each tool ran inside the
answer, with arguments and result; a failed one has its error. The text next to the calls is the run's answer.""")
    ask = chat("user", "What are span links?")
    payloads = [("web_search", "ws_1", {"action": {"type": "search", "query": "span links", "sources": [{"type": "url", "url": "https://otel.example/links"}]}, "status": "completed", "type": "web_search"}),
                ("code_interpreter", "ci_1", {"code": "print(40/2)", "container_id": "c1", "outputs": [{"type": "logs", "logs": "20.0\n"}], "status": "completed", "type": "code_interpreter"}),
                ("roll", "mcp_1", {"arguments": '{"dice":"2d6"}', "server_label": "dice", "error": "no such dice", "status": "failed", "type": "mcp"})]
    own = [{"type": "server_tool_call", "id": i, "name": n, "server_tool_call": p} for n, i, p in payloads]
    c.span("chat gpt-5", 0, 900, genai([ask], chat("assistant", "They join spans.", parts=own), (50, 10), "gpt-5"), scope="opentelemetry.instrumentation.genai.openai")
    items = [{"id": i, **{k: v for k, v in p.items() if k != "type"}, "type": p["type"] + "_call", **({"name": n} if p["type"] == "mcp" else {})} for n, i, p in payloads]
    body = {"id": "resp_2", "object": "response", "output": [*items, {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "They join spans."}]}]}
    said = chat("assistant", "They join spans.", calls=[("ws_1", "web_search_call", {"type": "search", "query": "span links"}), ("ci_1", "code_interpreter_call", None)])
    c.span("Response", 0, 900, llm([ask], said, (50, 10), "gpt-5", output__value=text(body), output__mime_type="application/json"), trace=2)
    blocks = [{"type": "text", "text": "I search."}, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "span links"}},
              {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://otel.example/links", "title": "Links"}]},
              {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_fetch", "input": {"url": "https://otel.example/links"}},
              {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_2", "content": {"type": "web_fetch_tool_error", "error_code": "url_not_accessible"}},
              {"type": "text", "text": "They join spans."}]
    c.span("messages", 0, 900, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude", "gen_ai.input.messages": text([{"role": "user", "content": ask["content"]}]),
           "gen_ai.output.messages": text([{"role": "assistant", "content": blocks}])}, trace=3)
    gemini = [{"executable_code": {"language": "PYTHON", "code": "print(40/2)"}}, {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "20.0\n"}}, {"text": "It is 20."}]
    c.span("generate_content", 0, 900, {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini", "gen_ai.input.messages": text([{"role": "user", "parts": [{"text": "Half of 40?"}]}]),
           "gen_ai.output.messages": text([{"role": "model", "parts": gemini}])}, trace=4)


def withheld():
    c = Case(62, "made-withheld-and-dumped", "What is left out, and what is wrapped", """
`__REDACTED__` in a question, an answer, a tool's input and output is not text: nothing was recorded. LangChain's constructor dumps, as tool
or agent output, are read as their content. A tool without a name has its span's; one that only reports failure gets the error text from the
next request. A spoken answer's transcript is its text. For a span that arrives three times, the last update counts.""")
    root = c.span("agent", 0, 9000, agent("librarian", "__REDACTED__", text({"messages": [{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": "It is in hall 2.", "type": "ai"}}]}), output__mime_type="application/json"))
    ask = chat("user", "__REDACTED__")
    said = chat("assistant", calls=[("call_1", "find", {"title": "Dune"}), ("call_2", "shelf", {"of": "Dune"}), ("call_3", "hours", {})])
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (20, 9)), root)
    dump = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"], "kwargs": {"page_content": "Dune, 1965", "metadata": {"hall": 2}}}
    c.span("find", 1000, 1900, tool("find", "call_1", {"title": "Dune"}, [dump]), root)
    c.span("shelf", 1000, 1800, {"openinference.span.kind": "TOOL", "tool_call.id": "call_2", "input.value": "__REDACTED__", "output.value": "__REDACTED__"}, root)
    c.span("execute_tool hours", 1000, 1700, {"gen_ai.operation.name": "execute_tool"}, root, (ERROR, None), scope="other")
    results = [chat("tool", "Dune, 1965", call_id="call_1"), chat("tool", "__REDACTED__", call_id="call_2"), chat("tool", "Error: the clock stands still", call_id="call_3")]
    spoken = {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, "audio": {"id": "audio_1", "data": "UklGRg==", "transcript": "It is in hall 2."}}}]}
    c.span("chat", 2000, 8900, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-audio", "gen_ai.input.messages": parts([ask, said, *results]),
           "gen_ai.output.messages": text([spoken["choices"][0]["message"]]), "gen_ai.usage.input_tokens": 60, "gen_ai.usage.output_tokens": 7}, root, scope="other")
    late = "003e000100000099"
    for update, more in ((0, {}), (1, {"output.value": "half"}), (10, {"output.value": "whole"})):
        c.span("index", 2000, 2000, {"openinference.span.kind": "RETRIEVER", "input.value": "Dune", "judgment.update_id": update, **more}, root, span_id=late)


def waiting():
    c = Case(63, "made-waiting-for-a-person", "Runs that stop for a person, and go on", """
A graph's node raises LangGraph's `GraphInterrupt`, as do the graphs around it: the run asked once, did not fail and has no answer yet. The
second trace continues with the person's decision and answers. In the third, a tool of Claude Code waits for permission, with the time; in
the fourth, an agent returns calls that wait for approval.""")
    scope = "openinference.instrumentation.langchain"
    ask = chat("user", "Delete a.txt.")
    said = chat("assistant", "I delete it.", calls=[("call_1", "delete", {"path": "a.txt"})])
    raised = "(Interrupt(value='Delete a.txt?', id='7ef2'),)"
    stops = [exception(1900, "langgraph.errors.GraphInterrupt", raised)]
    where = {"scope": scope}
    root = c.span("keeper", 0, 2000, agent("keeper", ask["content"], text({"messages": [{"type": "ai", "content": "I delete it."}], "__interrupt__": [{"value": "Delete a.txt?", "id": "7ef2"}]}), session__id="s", output__mime_type="application/json"), **where)
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (20, 9)), root, **where)
    node = c.span("approve", 1000, 1900, {"openinference.span.kind": "CHAIN"}, root, (ERROR, f"GraphInterrupt({raised})"), stops, **where)
    where = {"scope": scope, "trace": 2}
    resume = text({"graph": None, "update": None, "resume": {"type": "approve"}, "goto": []})
    root = c.span("keeper", 60000, 63000, agent("keeper", resume, "Deleted.", session__id="s", input__mime_type="application/json"), **where)
    c.span("delete", 60100, 60900, tool("delete", "call_1", {"path": "a.txt"}, "ok"), root, **where)
    c.span("ChatOpenAI", 61000, 62900, llm([ask, said, chat("tool", "ok", call_id="call_1")], chat("assistant", "Deleted."), (40, 3)), root, **where)
    where = {"scope": "com.anthropic.claude_code.tracing", "trace": 3}
    root = c.span("claude_code.interaction", 0, 9000, {"span.type": "interaction", "user_prompt": "Delete a.txt."}, **where)
    c.span("claude_code.llm_request", 100, 900, {"span.type": "llm_request", "model": "claude-sonnet-4-5", "input_tokens": 20, "output_tokens": 9, "stop_reason": "tool_use"}, root, **where)
    t = c.span("claude_code.tool", 1000, 8000, {"span.type": "tool", "tool_name": "Bash", "full_command": "rm a.txt", "tool_use_id": "toolu_1"}, root, events=[(7900, "tool.output", {"output": "ok"})], **where)
    c.span("claude_code.tool.blocked_on_user", 1010, 7010, {"span.type": "tool.blocked_on_user", "duration_ms": 6000, "decision": "accept", "source": "user_temporary"}, t, **where)
    where = {"scope": "pydantic-ai", "trace": 4}
    deferred = {"calls": [], "approvals": [{"tool_name": "delete", "args": {"path": "a.txt"}, "tool_call_id": "call_1", "part_kind": "tool-call"}], "metadata": {}}
    root = c.span("invoke_agent keeper", 0, 2000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "keeper", "final_result": text(deferred)}, **where)
    c.span("chat gpt-4o", 100, 900, genai([ask], said, (20, 9), finish="tool_call"), root, **where)


def calls_told_elsewhere():
    c = Case(78, "made-calls-told-elsewhere", "Calls that the answer's own span does not tell", """
In the first trace, a model call's span has one of two calls; the next request has both. In the second, the history has only the names of
called tools: these are the calls that ran, not new ones. In the third, no model output has calls, but the tools' spans have call ids, so a
model requested them: they are assigned to the model call right before, with a finding. The tool without an id stays without a request.""")
    ask = chat("user", "Open the gate and ring the bell.")
    calls = [("call_1", "open", {"gate": "north"}), ("call_2", "ring", {"times": 2})]
    whole = chat("assistant", "At once.", calls=calls)
    answers = [chat("tool", "open", call_id="call_1"), chat("tool", "rung", call_id="call_2")]
    done = chat("assistant", "Both are done.")

    def tools(root, **where):
        c.span("open", 1000, 1400, tool("open", "call_1", {"gate": "north"}, "open"), root, **where)
        c.span("ring", 1500, 1900, tool("ring", "call_2", {"times": 2}, "rung"), root, **where)

    root = c.span("agent", 0, 3000, agent("porter", ask["content"], done["content"]))
    c.span("ChatOpenAI", 100, 900, llm([ask], chat("assistant", "At once.", calls=calls[:1]), (20, 9)), root)
    tools(root)
    c.span("ChatOpenAI", 2000, 2900, llm([ask, whole, *answers], done, (40, 4)), root)
    root = c.span("agent", 5000, 8000, agent("porter", ask["content"], done["content"]), trace=2)
    c.span("ChatOpenAI", 5100, 5900, llm([ask], whole, (20, 9)), root, trace=2)
    c.span("open", 6000, 6400, tool("open", "call_1", {"gate": "north"}, "open"), root, trace=2)
    c.span("ring", 6500, 6900, tool("ring", "call_2", {"times": 2}, "rung"), root, trace=2)
    named = {"role": "assistant", "parts": [{"type": "text", "content": "At once."}, {"type": "tool_call", "name": "open"}, {"type": "tool_call", "name": "ring"}]}
    c.span("chat gpt-4o", 7000, 7900, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": text([*json.loads(parts([ask])), named]),
           "gen_ai.output.messages": parts([done]), "gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 4}, root, scope="other", trace=2)
    root = c.span("agent", 10000, 13000, agent("porter", ask["content"], done["content"]), trace=3)
    c.span("ChatOpenAI", 10100, 10900, llm([ask], chat("assistant", "At once."), (20, 9)), root, trace=3)
    c.span("open", 11000, 11400, tool("open", "call_1", {"gate": "north"}, "open"), root, trace=3)
    c.span("ring", 11500, 11900, tool("ring", "call_2", {"times": 2}, "rung"), root, trace=3)
    c.span("log", 11950, 11990, tool("log", None, {"line": "rung"}, "kept"), root, trace=3)
    c.span("ChatOpenAI", 12000, 12900, llm([ask, chat("assistant", "At once.")], done, (40, 4)), root, trace=3)


def json_cut_off():
    c = Case(79, "made-json-cut-off", "Values that a client cut off in the middle of their JSON", """
The client's length limit for attribute values cut the messages. Those before the cut are read; of the last one, the remaining text is read.
A truncated id or name is ignored. A finding names each key.""")

    def cut(value, length):
        assert len(value) > length
        return value[:length]

    ask = chat("user", "Name the rivers of the north.")
    said = chat("assistant", "I look them up.", calls=[("call_1", "rivers", {"of": "north"}), ("call_2", "lakes", {"of": "north"})])
    results = [chat("tool", "Dvina, Pechora", call_id="call_1"), chat("tool", "Ladoga, Onega, Ilmen and many more", call_id="call_2")]
    done = chat("assistant", "They are the Dvina and the Pechora, which flow into the White Sea and the Barents Sea.")
    root = c.span("invoke_agent geographer", 0, 3000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "geographer"}, scope="other")
    first = genai([ask], said, (20, 9), finish="tool_call")
    c.span("chat gpt-4o", 100, 900, first, root, scope="other")
    for at, (call, name, result) in enumerate((("call_1", "rivers", "Dvina, Pechora"), ("call_2", "lakes", "Ladoga, Onega, Ilmen and many more"))):
        c.span("execute_tool " + name, 1000 + at * 300, 1200 + at * 300, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call, "gen_ai.tool.call.result": result}, root, scope="other")
    second = genai([ask, said, *results], done, (60, 20))
    second["gen_ai.input.messages"] = cut(second["gen_ai.input.messages"], second["gen_ai.input.messages"].index("Ilmen"))
    second["gen_ai.output.messages"] = cut(second["gen_ai.output.messages"], second["gen_ai.output.messages"].index(", which"))
    c.span("chat gpt-4o", 2000, 2900, second, root, scope="other")


def call_told_by_two_clients():
    c = Case(80, "made-call-told-by-two-clients", "Each model call told by logfire and by the SDK itself", """
Logfire records a call in `request_data` and `response_data`; the SDK has its own span for the same call, with response id and tokens but no
content. A streamed answer is in a third, very short span at the end of the stream. Each is one call. In the second trace, the SDK's span is
a sibling of logfire's and ends later.""")

    def request(question):
        return {"model": "claude-haiku-4-5", "system": "Be brief.", "messages": [{"role": "user", "content": question}], "max_tokens": 100}

    def call(trace, parent, start, end, question, answer, stream, beside, number):
        known = {"gen_ai.provider.name": "anthropic", "gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-haiku-4-5"}
        told = dict(known, request_data=text(request(question)))
        body = {"message": {"role": "assistant", "content": answer}, "usage": {"input_tokens": 12, "output_tokens": 5}}
        whole = told if stream else dict(told, response_data=text(body))
        span = c.span("Message with 'claude-haiku-4-5'", start, end - 100 if stream else end, whole, parent, scope="logfire.anthropic", trace=trace)
        sdk = dict(known, **{"gen_ai.response.id": f"msg_{trace}{number}", "gen_ai.response.model": "claude-haiku-4-5", "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 5})
        c.span("chat claude-haiku-4-5", start + 5, end - 5, sdk, parent if beside else span, scope="com.anthropic.sdk.python", trace=trace, kind=3)
        if stream:
            chunks = text({"combined_chunk_content": answer, "chunk_count": 3})
            c.span("streaming response from 'claude-haiku-4-5' took 0.70s", end, end, dict(told, response_data=chunks), parent, scope="logfire.anthropic", trace=trace)

    for trace in (1, 2):
        root = c.span("agent run", 0, 3000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "rain"}, scope="pydantic-ai", trace=trace)
        call(trace, root, 100, 900, "Rain in Lima?", "16 mm.", False, trace == 2, 1)
        call(trace, root, 1000, 2000, "And in Cusco?", "736 mm.", True, trace == 2, 2)


def claude_code():
    c = Case(90, "made-tools-that-name-their-asker", "Tools that name the model call that asked for them", """
Claude Code runs a tool as soon as its call has streamed: each tool starts inside the model call that requested it, and log records name
that call's request. The second command fails, as its execution shows. The `Agent` tool contains model calls and a tool of a sub-agent,
whose spans have the agent's id as their conversation. `mcp__graph__nodes` is a tool of an MCP server.""")
    scope = "com.anthropic.claude_code.tracing"
    common = {"session.id": "sess-90", "gen_ai.provider.name": "anthropic"}

    def request(start, end, number, parent, said, stop="tool_use", **more):
        attrs = {"span.type": "llm_request", "model": "claude-m-5", "input_tokens": 100 * number, "output_tokens": 10 + number,
                 "cache_read_tokens": 0, "cache_creation_tokens": 0, "request_id": f"req_{number}", "stop_reason": stop, **more}
        span = c.span("claude_code.llm_request", start, end, dict(common, **attrs), parent, scope=scope)
        if said:
            c.log(end, "claude_code.assistant_response", root, "claude_code.assistant_response", {"request_id": f"req_{number}", "response": said})
        return span

    def run(start, end, number, parent, name, arguments, asked, result=None, error=None, attrs=(), log=True):
        call_id = {"tool_use_id": f"toolu_{number}"}
        out = [(end - 1, "tool.output", {"output": result})] if result else []
        span = c.span("claude_code.tool", start, end, dict(common, **{"span.type": "tool", "tool_name": name}, **call_id, **dict(attrs)), parent, scope=scope, events=out)
        failed = {"success": False, "error": error, "error_class": "ShellError"} if error else {"success": True}
        inner = c.span("claude_code.tool.execution", start + 2, end - 1, dict(common, **{"span.type": "tool.execution"}, **call_id, **failed), span, scope=scope)
        if log:
            told = {"success": "false", "error": error} if error else {"success": "true"}
            c.log(end, "claude_code.tool_result", root, "claude_code.tool_result", dict(call_id, tool_name=name, request_id=f"req_{asked}", tool_input=text(arguments), **told))
        return inner

    root = c.span("claude_code.interaction", 0, 3000, dict(common, **{"span.type": "interaction", "user_prompt": "Count the lines, then ask an agent for the nodes."}), scope=scope)
    request(100, 200, 1, root, "I count.")
    run(180, 240, 1, root, "Bash", {"command": "wc -l a.txt"}, 1, "2 a.txt")
    run(185, 260, 2, root, "Bash", {"command": "wc -l b.txt"}, 1, error="Shell command failed")
    request(300, 420, 2, root, "Now the agent.")
    inside = run(390, 1500, 3, root, "Agent", {"prompt": "Name the nodes."}, 2, "a, b")
    of_agent = {"agent_id": "a4b9", "gen_ai.conversation.id": "a4b9"}
    request(500, 640, 3, inside, "I ask the graph.", **of_agent)
    run(600, 700, 4, inside, "mcp__graph__nodes", {"limit": 2}, 3, "[a, b]", attrs=of_agent)
    request(800, 900, 4, inside, "a, b", stop="end_turn", **of_agent)
    request(1600, 1800, 5, root, "Two lines; nodes a and b.", stop="end_turn")


def runs_of_one_agent():
    c = Case(91, "made-runs-of-one-agent", "Several prompts of one agent", """
A host's agent span contains a span for each prompt, all of the same agent, and the model calls record no inputs: each question precedes its
answer.""")
    name = {"gen_ai.agent.name": "helper"}
    root = c.span("invoke_agent helper", 0, 9000, dict(name, **{"gen_ai.operation.name": "invoke_agent"}), scope="my.host")
    for at, question, answer in ((10, "Count the buoys.", "Twelve."), (5000, "Note it.", "Noted.")):
        turn = c.span("claude_code.interaction", at, at + 3000, dict(name, **{"span.type": "interaction", "user_prompt": question}), root, scope="com.anthropic.claude_code.tracing")
        c.span("claude_code.llm_request", at + 50, at + 2000, dict(name, **{"span.type": "llm_request", "model": "m", "input_tokens": 10, "output_tokens": 2, "stop_reason": "end_turn",
               "gen_ai.output.messages": parts([chat("assistant", answer)])}), turn, scope="com.anthropic.claude_code.tracing")


def messages_under_their_roles():
    c = Case(92, "made-messages-under-their-roles", "Messages under the names of their roles", """
Monocle writes each message as an object whose only member is named by the role, in a list printed by Python, and calls without ids in the
history. In the second trace, a client lists parallel calls one by one in the next request, each followed by its result.""")
    known = {"workflow.name": "bakery", "monocle_apptrace.version": "0.8.15", "scope.agentic.session": "oven-5"}

    def events(start, end, given, said, **metadata):
        out = [(start, "data.input", {"input": given}), (end, "data.output", {"response": said})]
        return out + ([(end, "metadata", metadata)] if metadata else [])

    root = c.span("workflow", 0, 900, dict(known, **{"span.type": "workflow", "entity.1.name": "bakery", "entity.1.type": "workflow.generic"}), scope="monocle_apptrace")
    baker = c.span("agent", 10, 890, dict(known, **{"span.type": "agentic.invocation", "entity.1.name": "Baker", "entity.1.type": "agent.generic"}), root, scope="monocle_apptrace",
                   events=events(10, 890, "['Are there buns?']", "Six."))
    model = dict(known, **{"span.type": "inference", "entity.1.type": "inference.openai", "entity.2.name": "gpt-4o", "entity.2.type": "model.llm.gpt-4o"})
    asked = [text({"system": "You sell bread."}), text({"user": "Are there buns?"})]
    call = {"tool_name": "count", "tool_arguments": text({"item": "bun"})}
    first = c.span("Completions.create", 100, 200, model, baker, scope="monocle_apptrace",
                   events=events(100, 200, repr(asked), text({"tools": [dict(call, tool_id="call_b")]}), prompt_tokens=40, completion_tokens=12, finish_reason="tool_calls"))
    c.span("FunctionTool", 300, 310, dict(known, **{"span.type": "agentic.tool.invocation", "entity.1.name": "count", "entity.1.type": "tool.generic", "inference.decision.span.id": "0x" + first}),
           baker, scope="monocle_apptrace", events=events(300, 310, "{'item': 'bun'}", "6"))
    history = asked + [text({"assistant": [{"text": "I look."}]}), text({"tool_function": "count", "tool_arguments": call["tool_arguments"]}), text({"tool": "6"})]
    c.span("Completions.create", 400, 500, model, baker, scope="monocle_apptrace",
           events=events(400, 500, repr(history), text({"assistant": "Six."}), prompt_tokens=60, completion_tokens=3, finish_reason="stop"))

    voice = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"}
    before = [{"role": "user", "content": "Buns and rolls?"}]
    c.span("llm", 0, 100, dict(voice, input=text(before), output="I look.", **{"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 20}), scope="pipecat", trace=2)
    told = []
    for number, item in ((1, "bun"), (2, "roll")):
        asks = {"id": f"call_{number}", "type": "function", "function": {"name": "count", "arguments": text({"item": item})}}
        told += [{"role": "assistant", "tool_calls": [asks]}, {"role": "tool", "tool_call_id": f"call_{number}", "content": str(number)}]
    after = before + [{"role": "assistant", "content": "I look."}] + told
    c.span("llm", 200, 300, dict(voice, input=text(after), output="One bun, two rolls.", **{"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 8}), scope="pipecat", trace=2)


for make in (claude_code, runs_of_one_agent, messages_under_their_roles, call_told_by_two_clients, json_cut_off, calls_told_elsewhere, judges, server_tools, withheld, waiting, history_compacted, history_cut_attributes, call_ids_restart, call_ids_of_agents, answer_in_pieces, words_of_agents, calls_that_continue_nothing):
    make()


def continued(before, said, base, kept=None, tokens=None):
    """An OTel GenAI chat span that goes on with the conversation of another: `before` is what is new."""
    out = genai(before, said, tokens)
    if not before:
        del out["gen_ai.input.messages"]
    out["spanbridge.continues.span_id"] = base
    if kept is not None:
        out["spanbridge.continues.messages"] = kept
    return out


def continued_history():
    c = Case(195, "made-history-continued", "Spans that go on with another one's conversation", """
Each model call names the previous call and the number of messages kept from it, and has only new messages as its own input. All formats
write the same documents as for `whole` spans. The second and the third call both continue the first; the fourth received less than the
third and keeps two messages; the last gives no number: it keeps all.""")
    ask = chat("user", "How long is the Rhine?")
    root = c.span("geo", 0, 9000, agent("geo", ask["content"], "1233 km, and the Elbe 1094 km."))
    look = chat("assistant", "Let me look.", calls=[("call_1", "length", {"of": "Rhine"})])
    first = c.span("chat gpt-4o", 100, 900, genai([SYSTEM, ask], look, (20, 9), finish="tool_call"), root, scope="other")
    c.span("length", 1000, 1400, tool("length", "call_1", {"of": "Rhine"}, {"km": 1233}), root)
    result = chat("tool", text({"km": 1233}), call_id="call_1")
    c.span("chat gpt-4o", 1500, 1900, continued([result], chat("assistant", "1233 miles."), first, 3, (40, 5)), root, scope="other")
    again = c.span("chat gpt-4o", 2000, 2900, continued([result], chat("assistant", "1233 km."), first, 3, (40, 5)), root, scope="other")
    c.span("chat gpt-4o", 3000, 3900, continued([chat("user", "Name its mouth.")], chat("assistant", "The North Sea."), again, 2, (25, 4)), root, scope="other")
    c.span("chat gpt-4o", 4000, 4900, continued([chat("user", "And the Elbe?")], chat("assistant", "1233 km, and the Elbe 1094 km."), again, None, (60, 12)), root, scope="other")


def continued_nowhere():
    c = Case(196, "made-history-continued-nowhere", "Spans that go on with nothing", """
A model call continues a missing span, one itself, two each other, one a span of another trace, one keeps more messages than exist, one
names an invalid span id. Each has the known messages, and a finding `unresolved_continuation`; the invalid id is an ordinary attribute.""")
    root = c.span("geo", 0, 9000, agent("geo"))
    other = c.span("chat gpt-4o", 100, 200, genai([chat("user", "Elsewhere?")], chat("assistant", "Elsewhere."), (5, 2)), trace=2, scope="other")
    say = lambda n: chat("assistant", f"Answer {n}.")
    ask = lambda n: [chat("user", f"Question {n}?")]
    number = lambda n: f"{196:04x}{1:04x}{n:08x}"
    c.span("chat gpt-4o", 100, 200, continued(ask(1), say(1), "00000000000000aa", 1), root, scope="other")
    c.span("chat gpt-4o", 300, 400, continued(ask(2), say(2), number(4), 1), root, scope="other")
    c.span("chat gpt-4o", 500, 600, continued(ask(3), say(3), number(6), 1), root, scope="other")
    c.span("chat gpt-4o", 700, 800, continued(ask(4), say(4), number(5), 1), root, scope="other")
    c.span("chat gpt-4o", 900, 950, continued(ask(5), say(5), other, 1), root, scope="other")
    c.span("chat gpt-4o", 1000, 1100, continued(ask(6), say(6), number(7), 99), root, scope="other")
    c.span("chat gpt-4o", 1200, 1300, continued(ask(7), say(7), "no id", 1), root, scope="other")


for make in (continued_history, continued_nowhere):
    make()


def json_mended():
    c = Case(140, "made-json-mended", "JSON that needs mending", """
Clients write JSON with NaN, half a character, integers of more than 64 bits, raw line breaks, an extra comma, quoted twice, as Python
prints it, or cut off with a mark behind it. It is read as intended, and a finding names the key. Unreadable messages stay an attribute,
with a finding.""")
    root = c.span("invoke_agent counter", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "counter"}, scope="other")
    said = chat("assistant", calls=[("call_1", "mean", {"of": "depths"})])
    first = genai([chat("user", "What is the mean depth?")], said, (20, 9), finish="tool_call")
    first["gen_ai.input.messages"] = first["gen_ai.input.messages"].replace("?", "? \\ud83d")
    c.span("chat gpt-4o", 100, 900, first, root, scope="other")
    c.span("execute_tool mean", 1000, 1200, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mean", "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": '{"of":"depths","wei":1000000000000000000001,}', "gen_ai.tool.call.result": '{"mean":NaN,"note":"two\nlines"}'}, root, scope="other")
    second = genai([chat("user", "What is the mean depth? \ufffd"), said, chat("tool", "MEAN", call_id="call_1")], chat("assistant", "Not known."), (30, 4))
    second["gen_ai.input.messages"] = second["gen_ai.input.messages"].replace('"MEAN"', '{"mean":NaN}')
    c.span("chat gpt-4o", 2000, 2900, second, root, scope="other")
    shapes = [("quoted twice", lambda v: text(v)), ("as Python prints it", lambda v: str(json.loads(v))), ("cut off with a mark", lambda v: v[:-40] + "...[truncated, original 123 chars]")]
    for at, (name, write) in enumerate(shapes):
        call = genai([chat("user", "Say " + name + "."), chat("assistant", "Said so, in as many words as that takes.")], chat("assistant", "Done."), (5, 1))
        call["gen_ai.input.messages"] = write(call["gen_ai.input.messages"])
        c.span("chat gpt-4o", 3000 + at * 1000, 3900 + at * 1000, call, root, scope="other")
    broken = genai([chat("user", "Nobody says this.")], chat("assistant", "Something."), (5, 1))
    broken["gen_ai.input.messages"] = broken["gen_ai.input.messages"].replace('"content"', 'content"')
    c.span("chat gpt-4o", 7000, 7900, broken, root, scope="other")


def tools_without_their_keys():
    c = Case(141, "made-tools-under-other-keys", "Tools whose calls stand under other keys", """
A tool is recognised only by its name or call id; arguments and results are under older keys, under bare `input` and `output`, as parameters
of a function, or wrapped. Unread keys of a known client are a finding.""")
    root = c.span("invoke_agent porter", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "porter"}, scope="other")
    calls = [("call_1", "weigh", {"crate": 5}), ("call_2", "lift", {"crate": 5}), ("call_3", "stack", {"crate": 5}), ("call_4", "label", {"crate": 5, "word": "fragile"})]
    c.span("chat gpt-4o", 100, 900, genai([chat("user", "See to crate 5.")], chat("assistant", calls=calls), (20, 9), finish="tool_call"), root, scope="other")
    tools = [
        ("weighing", {"gen_ai.tool.name": "weigh", "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.arguments": '{"crate":5}', "gen_ai.tool.call.result": "31 kg", "gen_ai.tool.colour": "red"}),
        ("execute_tool lift", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lift", "gen_ai.tool.call.id": "call_2", "gen_ai.tool.arguments": '{"crate":5}', "gen_ai.tool.result": "lifted"}),
        ("execute_tool stack", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "stack", "gen_ai.tool.call.id": "call_3", "input": '{"crate":5}', "output": '{"height":3}'}),
        ("execute_tool label", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "label", "gen_ai.tool.call.id": "call_4", "code.function.parameters.crate.type": "int", "code.function.parameters.crate.value": 5,
            "code.function.parameters.word.type": "str", "code.function.parameters.word.value": "fragile", "code.function.return.type": "str", "code.function.return.value": "labelled"}),
    ]
    for at, (name, attrs) in enumerate(tools):
        c.span(name, 1000 + at * 200, 1100 + at * 200, attrs, root, scope="other")


def usage_spellings():
    c = Case(142, "made-usage-spellings", "Tokens and cost in the spellings of many clients", """
Token counts have many names, flat or in an object, and some clients exclude cached tokens from the input: then the cached part is larger
than the whole. A cost recorded in parts is their sum.""")
    root = c.span("invoke_agent counter", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "counter"}, scope="other")
    usages = [
        {"gen_ai.usage.input_tokens": 1300, "gen_ai.usage.output_tokens": 9, "gen_ai.usage.details.cache_read_tokens": 1200, "gen_ai.usage.details.cache_write_tokens": 60},
        {"gen_ai.usage.input_tokens": 90, "gen_ai.usage.output_tokens": 9, "gen_ai.usage.input_tokens.cached": 70, "gen_ai.usage.output_tokens.reasoning": 4, "gen_ai.usage.image.input_tokens": 30},
        {"gen_ai.usage.promptTokens": 40, "gen_ai.usage.completionTokens": 8, "gen_ai.usage.cachedInputTokens": 16},
        {"gen_ai.usage": text({"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 20}})},
    ]
    for at, usage in enumerate(usages):
        call = {key: value for key, value in genai([chat("user", f"Count to {at}.")], chat("assistant", "Counted."), None).items() if "usage" not in key}
        c.span("chat gpt-4o", 100 + at * 500, 400 + at * 500, dict(call, **usage), root, scope="other")
    ai = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "claude", "ai.prompt.messages": text([chat("user", "hi")]), "ai.response.text": "yo"}
    meta = {"anthropic": {"cacheCreationInputTokens": 900, "cacheReadInputTokens": 30000, "usage": {"input_tokens": 4, "output_tokens": 21}}}
    c.span("ai.generateText.doGenerate", 3000, 3100, dict(ai, **{"ai.usage.promptTokens": 4, "ai.usage.completionTokens": 21, "ai.response.providerMetadata": text(meta)}), root, scope="ai")
    c.span("ai.generateText.doGenerate", 3200, 3300, dict(ai, **{"ai.usage.inputTokens": 1200, "ai.usage.inputTokenDetails.cacheWriteTokens": 1100, "ai.usage.outputTokens": 4}), root, scope="ai")
    c.span("Claude.invoke", 3400, 3500, dict({"openinference.span.kind": "LLM", "llm.model_name": "claude", "llm.token_count.prompt": 10, "llm.token_count.completion": 5, "llm.token_count.total": 15,
        "llm.token_count.prompt_details.cache_read": 1000, "llm.token_count.prompt_details.cache_write": 200, "llm.invocation_parameters.temperature": 0.1}, **flat("llm.input_messages", [chat("user", "hi")])), root)
    c.span("gen", 3600, 3700, {"langfuse.observation.type": "generation", "langfuse.observation.input": text([chat("user", "hi")]), "langfuse.observation.output": "yo", "langfuse.observation.cost_details": '{"input":0.1,"output":0.2}'}, root, scope="langfuse-sdk")
    c.span("Completions", 3800, 3900, {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": text({"model": "large", "messages": [chat("user", "hi")]}), "mlflow.spanOutputs": text({"model": "large-05", "choices": [{"index": 0, "message": chat("assistant", "yo")}]}), "usage": '{"input_tokens":12,"output_tokens":3}'}, root, scope="mlflow")
    said = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "yo"}], "usage": {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5, "output_tokens": 9}}
    c.span("Messages", 4000, 4100, dict({"openinference.span.kind": "LLM", "llm.model_name": "claude", "output.value": text(said), "output.mime_type": "application/json"}, **flat("llm.input_messages", [chat("user", "hi")])), root, scope="openinference.instrumentation.anthropic")


def prompts_of_many_shapes():
    c = Case(143, "made-prompts-of-many-shapes", "Prompts and answers under older keys", """
Deprecated keys, lists of texts, lists of events with and without names, text completions, log records with both sides in the body.""")
    call = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o"}
    said = lambda n: ([chat("system", "Be brief."), chat("user", f"Question {n}?")], chat("assistant", f"Answer {n}."))
    ask, done = said(1)
    c.span("chat", 0, 100, dict(call, **{"gen_ai.prompt": text(ask), "gen_ai.completion": text([done])}), scope="other")
    c.span("complete", 200, 300, {"openinference.span.kind": "LLM", "llm.prompts": ["Name one river."], "input.value": text({"args": ["Name one river."]}), "input.mime_type": "application/json", "output.value": "The Glomma."}, trace=2)
    go = {"llm.request.type": "chat", "llm.vendor": "OpenAI", "llm.request.model": "m-1", "llm.response.model": "m-1-05", "llm.usage.prompt_tokens": 150, "llm.usage.completion_tokens": 50,
        "llm.prompts.0.role": "user", "llm.prompts.0.content": "Tide?", "llm.completions.0.role": "assistant", "llm.completions.0.content": "Low."}
    c.span("openai.chat", 400, 500, go, scope="github.com/traceloop/go-openllmetry", trace=3)
    c.span("Completion", 600, 700, {"gen_ai.operation.name": "text_completion", "gen_ai.request.model": "instruct", "request_data": text({"prompt": "The capital of Norway is"}), "response_data": text({"text": " Oslo.", "usage": {"prompt_tokens": 5, "completion_tokens": 2}})}, scope="logfire.openai", trace=4)
    named = [{"event.name": f"gen_ai.{m['role']}.message", **m} for m in [*ask, done]]
    c.span("Responses API", 800, 900, dict(call, events=text(named)), scope="logfire.openai", trace=5)
    bare = [*ask, {"index": 0, "finish_reason": "STOP", "message": {"role": "assistant", "content": ["Answer 1."]}}]
    c.span("generate_content", 1000, 1100, dict(call, events=text(bare)), scope="opentelemetry.instrumentation.google_genai", trace=6)
    model = c.span("ChatBedrock", 1200, 1300, {"openinference.span.kind": "LLM", "llm.model_name": "claude"}, trace=7)
    c.log(1250, "openinference.instrumentation.langchain", model, {"input": {"messages": [chat("user", "How many?")]}, "output": {"messages": [chat("assistant", "Twelve.")]}}, trace=7)
    run = c.span("stock", 1400, 1500, {"openinference.span.kind": "TOOL", "tool.name": "stock"}, trace=7)
    c.log(1450, "openinference.instrumentation.langchain", run, {"input": {"messages": [chat("user", '{"item":"lamp"}')]}, "output": {"messages": [chat("assistant", '{"left":12}')]}}, trace=7)


def keys_of_clients():
    c = Case(154, "made-keys-of-clients", "Facts under the clients' own keys", """
Langfuse's trace, session, person and reference output; annotations of OpenInference; memory records; a turn of a voice agent; placeholders
that clients write for omitted or missing values.""")
    root = c.span("orchestrator", 0, 900, {"langfuse.observation.type": "span", "langfuse.trace.input": "Which berth is free?", "langfuse.trace.output": "Berth 3.", "langfuse.session.id": "S-1", "langfuse.user.id": "u-1"}, scope="langfuse-sdk")
    c.span("gen", 100, 800, {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m", "langfuse.observation.input": text([chat("user", "internal request")]), "langfuse.observation.output": text(chat("assistant", "internal reply")),
        "langfuse.experiment.item.expected_output": "Berth 4."}, root, scope="langfuse-sdk")
    c.span("agent", 1000, 1900, {"openinference.span.kind": "AGENT", "agent.name": "a", "input.value": "q", "output.value": "a", "annotations.0.annotation.name": "helpful", "annotations.0.annotation.score": 0.8,
        "annotations.0.annotation.label": "good", "session.annotations.0.annotation.name": "polite", "session.annotations.0.annotation.score": 1.0}, trace=2)
    root = c.span("invoke_agent a", 2000, 2900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, scope="other", trace=3)
    c.span("search_memory", 2100, 2200, {"gen_ai.operation.name": "search_memory", "gen_ai.memory.query.text": "likes?", "gen_ai.memory.records": text([{"id": "mem_1", "content": "likes snow"}]), "gen_ai.memory.record.count": 7}, root, scope="other", trace=3)
    c.span("upsert_memory", 2300, 2400, {"gen_ai.operation.name": "upsert_memory", "gen_ai.memory.record.id": "mem_9", "gen_ai.memory.record.count": 1, "gen_ai.memory.records": text([{"id": "mem_9", "content": "likes skiing"}])}, root, scope="other", trace=3)
    session = c.span("agent_session", 3000, 3900, {"lk.agent_name": "deckhand", "lk.room_name": "r"}, scope="livekit-agents", trace=4)
    turn = c.span("agent_turn", 3100, 3800, {"lk.user_input": "Ahoy?", "lk.pii.instructions": "Be brief.", "lk.pii.response.text": "Ahoy there!"}, session, scope="livekit-agents", trace=4)
    c.span("llm_request", 3200, 3400, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1}, turn, scope="livekit-agents", trace=4)
    c.span("function_tool", 3500, 3600, {"lk.function_tool.id": "ft1", "lk.function_tool.name": "clock", "lk.pii.function_tool.arguments": "{}", "lk.function_tool.output": "14:30", "lk.function_tool.is_error": False}, turn, scope="livekit-agents", trace=4)
    c.span("OpenAI Agents trace", 4000, 4900, {"name": "t", "group_id": "null", "metadata": "null", "agent_trace_id": "trace_1"}, scope="logfire.openai_agents", trace=5)
    model = c.span("generate_content", 4100, 4200, {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "g"}, scope="gcp.vertex.agent", trace=5)
    c.log(4150, "gen_ai.user.message", model, {"content": "<elided>"}, trace=5)
    c.span("execute_tool sound", 4300, 4400, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}, scope="gcp.vertex.agent", trace=5)
    # Langfuse's type of what nobody gave one: other attributes and LangChain's messages of tools say what it is.
    agent = c.span("harbour", 5000, 5900, {"langfuse.observation.type": "agent", "langfuse.observation.input": text({"prompt": "Which berth is free?", "system": "You know the harbour."}), "langfuse.observation.output": text(chat("assistant", "Berth 3."))}, scope="langfuse-sdk", trace=6)
    asks = lambda id, name, arguments: {"id": id, "type": "function", "function": {"name": name, "arguments": text(arguments)}}
    asked = {"role": "assistant", "content": "", "tool_calls": [asks("t1", "tide", {"at": 9}), asks("t2", "berths", {"of": "north"})]}
    c.span("gen", 5010, 5100, {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m", "langfuse.observation.input": text([chat("user", "Which berth is free?")]), "langfuse.observation.output": text(asked)}, agent, scope="langfuse-sdk", trace=6)
    c.span("tool.tide", 5110, 5200, {"langfuse.observation.type": "span", "gen_ai.tool.name": "tide", "gen_ai.tool.call.id": "t1", "input.value": text({"at": 9}), "output.value": "low"}, agent, scope="ai.koog", trace=6)
    found = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": {"status": "success", "content": "3", "tool_call_id": "t2", "name": "berths"}}
    c.span("berths", 5120, 5210, {"langfuse.observation.type": "span", "langfuse.observation.input": text({"of": "north"}), "langfuse.observation.output": text(found)}, agent, scope="langfuse-sdk", trace=6)


for make in (json_mended, tools_without_their_keys, usage_spellings, prompts_of_many_shapes, keys_of_clients):
    make()


def ran(name, call_id=None, arguments=None, result=None, **more):
    """An OTel GenAI tool span's attributes."""
    out = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    known = {"call.id": call_id, "call.arguments": text(arguments) if arguments is not None else None, "call.result": result}
    out.update({"gen_ai.tool." + k: v for k, v in known.items() if v is not None})
    out.update({k.replace("__", "."): v for k, v in more.items()})
    return out


def calls_that_are_one_or_two():
    c = Case(144, "made-calls-that-are-one-or-two", "When spans tell of one model call, and when of two", """
1. Two consecutive calls with the same response id, repeated by a server. Two calls.
2. A context left open: each call is a child of the previous one, and starts after it. Two calls.
3. Two concurrent calls with the same response id, but different answers. Two calls.
4. A framework and its client record the same call, and only the client has the system prompt. One call, with the prompt.""")
    rain, snow = chat("user", "Rain?"), chat("user", "Snow?")
    for trace, times, same_id in ((1, ((100, 400), (500, 900)), True), (3, ((100, 900), (200, 800)), True)):
        root = c.span("invoke_agent sky", 0, 1000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sky"}, trace=trace)
        for (start, end), ask, said, tokens in zip(times, (rain, snow), ("A little.", "None."), ((5, 2), (6, 3))):
            c.span("chat gpt-4o", start, end, genai([ask], chat("assistant", said), tokens, gen_ai__response__id=f"resp_{trace}"), root, trace=trace)
    first = c.span("chat gpt-4o", 0, 80, genai([rain], chat("assistant", "A little."), (5, 2), gen_ai__response__id="r1"), trace=2)
    c.span("chat gpt-4o", 100, 180, genai([rain], chat("assistant", "A little."), (5, 2), gen_ai__response__id="r2"), first, trace=2)
    outer = c.span("chat gpt-4o", 0, 900, genai([rain], chat("assistant", "A little."), (9, 2)), scope="framework", trace=4)
    inner = llm([chat("system", "You watch the sky."), rain], chat("assistant", "A little."), (9, 2))
    c.span("ChatCompletion", 10, 890, inner, outer, scope="openinference.instrumentation.openai", trace=4)


def calls_and_results():
    c = Case(145, "made-calls-and-results", "Calls and their results, where the ids do not say which is whose", """
1. One answer gives the id `call_1` to two calls: the second gets a derived id, and each has its own result.
2. The result has no id, and its call is not in the history: it belongs to the open call before it.
3. A stream merged the arguments of two calls into one, without ids. The next request shows both.
4. A stream left the arguments of two calls empty.
5. A tool failed with only an error type; the model received more. `cleanup` ran without a request from a model.
6. Two agents: the second one's request begins with a copy of the question.""")
    ask, done = chat("user", "Add and sort."), chat("assistant", "Done.")

    def run(trace, said, told, results, tools, again=None):
        root = c.span("invoke_agent clerk", 0, 1000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}, trace=trace)
        c.span("chat gpt-4o", 10, 200, said if isinstance(said, dict) and "role" not in said else genai([ask], said, (5, 4), finish="tool_calls"), root, trace=trace)
        for at, attrs in enumerate(tools):
            c.span("execute_tool", 300 + 50 * at, 340 + 50 * at, attrs, root, trace=trace, status=(ERROR, "TOOL_ERROR") if "error.type" in attrs else None)
        c.span("chat gpt-4o", 600, 900, again or genai([ask, *told, *results], done, (20, 2)), root, trace=trace)

    twins = chat("assistant", calls=[("call_1", "add", {"n": 1}), ("call_1", "add", {"n": 2})])
    run(1, twins, [twins], [chat("tool", "one", call_id="call_1"), chat("tool", "two", call_id="call_1")],
        [ran("add", "call_1", {"n": 1}, "one"), ran("add", "call_1", {"n": 2}, "two")])
    asked = chat("assistant", calls=[("call_a", "add", {"n": 1})])
    lone = llm([ask, chat("tool", '[{"dash": "\\u2014"}]')], done)
    run(2, asked, [], [], [ran("add", None, {"n": 1}, '[{"dash":"\u2014"}]')], lone)
    two = chat("assistant", "I do both.", calls=[("k1", "add", {"n": 1}), ("k2", "sort", {"n": 2})])
    both = [chat("tool", "one", call_id="k1"), chat("tool", "sorted", call_id="k2")]
    glued = llm([ask], chat("assistant", "I do both."))
    glued.update({"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "sort",
                  "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"n":1}{"n":2}'})
    tools = [ran("add", None, {"n": 1}, "one"), ran("sort", None, {"n": 2}, "sorted")]
    run(3, glued, [two], both, tools)
    run(4, chat("assistant", "I do both.", calls=[("k1", "add", {}), ("k2", "sort", {})]), [two], both, tools)
    one = chat("assistant", calls=[("k1", "add", {"n": 1})])
    run(5, one, [one], [chat("tool", "no such number: 1", call_id="k1")], [ran("add", "k1", {"n": 1}, error__type="TOOL_ERROR"), ran("cleanup")])
    desk = c.span("invoke_workflow desk", 0, 1000, {"gen_ai.operation.name": "invoke_workflow"}, trace=6)
    for name, start, said in (("triage", 10, chat("assistant", calls=[("h1", "transfer_to_billing", {})])), ("billing", 500, chat("assistant", "Refunded."))):
        who = c.span("invoke_agent " + name, start, start + 400, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}, desk, trace=6)
        c.span("chat gpt-4o", start + 10, start + 390, genai([chat("user", "Refund order 42.")], said), who, trace=6)


def clocks():
    c = Case(146, "made-clocks", "Times that are missing, equal, or of another clock", """
1. The model call has no start: its end is used instead, nothing is dated 1970, and there is no latency.
2. The server's clock is an hour behind the client's: the server's span and its children lie within the client's.
3. A millisecond clock: the tools and the call that reads their results start at once, and a call's messages have the same time.""")
    ask, calls = chat("user", "How deep?"), [("k1", "sound", {"at": 1}), ("k2", "sound", {"at": 2})]
    said, done = chat("assistant", calls=calls), chat("assistant", "Six.")
    results = [chat("tool", "6", call_id="k1"), chat("tool", "6", call_id="k2")]
    start = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}
    root = c.span("invoke_agent pilot", 0, 1000, start, trace=1)
    c.span("chat gpt-4o", 0, 500, genai([ask], done), root, trace=1)
    c.spans[-1][1]["startTimeUnixNano"] = "0"
    root = c.span("invoke_agent pilot", 0, 1000, start, trace=2)
    c.span("chat gpt-4o", 10, 100, genai([ask], chat("assistant", calls=calls[:1])), root, trace=2)
    client = c.span("tools/call sound", 200, 400, ran("sound", "k1", {"at": 1}), root, trace=2, kind=3)
    server = c.span("tools/call sound", 250 - 3600_000, 350 - 3600_000, ran("sound", None, None, "6"), client, trace=2, kind=2)
    c.span("chat gpt-4o", 260 - 3600_000, 340 - 3600_000, genai([chat("user", "inner")], chat("assistant", "6")), server, trace=2)
    root = c.span("invoke_agent pilot", 0, 1000, start, trace=3)
    c.span("chat gpt-4o", 10, 40, genai([ask], said), root, trace=3)
    last = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    events = [("gen_ai.user.message", {"content": "How deep?"}), ("gen_ai.assistant.message", {"tool_calls": text([{"id": i, "type": "function", "function": {"name": n, "arguments": text(a)}} for i, n, a in calls])}),
              ("gen_ai.tool.message", {"id": "k1", "content": "6"}), ("gen_ai.tool.message", {"id": "k2", "content": "6"}), ("gen_ai.user.message", {"content": "In feet."}),
              ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": text({"role": "assistant", "content": "Twenty."})})]
    c.span("chat gpt-4o", 40.999936, 90, last, root, trace=3, events=[(41, n, a) for n, a in events])
    for at, (i, n, a) in enumerate(calls):
        c.span("execute_tool sound", 41, 41.2 + at / 10, ran(n, i, a, "6"), root, trace=3)


def told_in_odd_places():
    c = Case(147, "made-told-in-odd-places", "What clients tell in odd places", """
1. OpenInference flattens two results of one message to the last, with the role `user`; the full request has both.
2. A call and its result are JSON in a user's message (openai-agents), or the calls of an answer have a result's role (Koog 0.3).
3. Each event of a model call and of a tool is a span (BeeAI).
4. A call with only message events; a result with an image; a handoff in plain text; positional arguments.
5. A graph stops with a question in one trace, and continues with the answer in the next (6).""")
    ask = chat("user", "Depth at both piers?")
    calls = [("k1", "sound", {"pier": 1}), ("k2", "sound", {"pier": 2})]
    root = c.span("workflow", 0, 1000, {"openinference.span.kind": "AGENT"}, trace=1)
    c.span("Messages", 10, 100, llm([ask], chat("assistant", calls=calls)), root, trace=1)
    flattened = llm([ask, chat("assistant", calls=calls), chat("user", "6 m")], chat("assistant", "Five and six."))
    flattened["llm.input_messages.2.message.tool_call_id"] = "k2"
    results = [{"type": "tool_result", "tool_use_id": i, "content": m} for i, m in (("k1", "5 m"), ("k2", "6 m"))]
    uses = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
    flattened["input.value"] = text({"messages": [{"role": "user", "content": "Depth at both piers?"}, {"role": "assistant", "content": uses}, {"role": "user", "content": results}]})
    flattened["input.mime_type"] = "application/json"
    c.span("Messages", 200, 300, flattened, root, trace=1)
    one = chat("assistant", calls=calls[:1])
    root = c.span("invoke_agent pilot", 0, 1000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, trace=2)
    c.span("chat gpt-4o", 10, 100, genai([ask], one), root, trace=2)
    call = {"type": "function_call", "call_id": "k1", "name": "sound", "arguments": '{"pier":1}'}
    given = {"type": "function_call_output", "call_id": "k1", "output": "5 m"}
    c.span("chat gpt-4o", 200, 300, genai([ask, chat("user", text(call)), chat("user", text(given))], chat("assistant", "Five.")), root, trace=2)
    koog = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Still five."}
    again = [{"id": "k9", "type": "function", "function": {"name": "sound", "arguments": '{"pier":1}'}}]
    for at, (role, content) in enumerate((("user", "Depth at both piers?"), ("assistant", "Five."), ("user", "Again."), ("tool", text(again)), ("tool", "5 m"))):
        koog.update({f"gen_ai.prompt.{at}.role": role, f"gen_ai.prompt.{at}.content": content})
    c.span("chat gpt-4o", 400, 500, koog, root, trace=2)
    bee = "openinference.instrumentation.beeai"
    root = c.span("beeai-framework-main", 0, 1000, agent(None, "Depth?", "Five."), trace=3, scope=bee)
    c.spans[-1][1]["attributes"] = [a for a in c.spans[-1][1]["attributes"] if a["key"] != "agent.name"]
    started = c.span("agent.react.start-1", 5, 990, {"openinference.span.kind": "AGENT", "target": "agent.react.start"}, root, trace=3, scope=bee)
    c.span("backend.openai.chat.start-1", 10, 900, {"openinference.span.kind": "LLM", **flat("llm.input_messages", [SYSTEM, ask])}, started, trace=3, scope=bee)
    c.span("backend.openai.chat.success-1", 200, 900, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", **flat("llm.output_messages", [chat("assistant", "Five.")])}, root, trace=3, scope=bee)
    c.span("tool.sea.sound.start-2", 100, 900, {"openinference.span.kind": "TOOL", "tool.parameters": '{"pier":1}'}, root, trace=3, scope=bee)
    c.span("tool.sea.sound.success-2", 150, 900, {"openinference.span.kind": "TOOL", "tool.parameters": '{"pier":1}', "output.value": "5 m"}, root, trace=3, scope=bee)
    root = c.span("triage", 0, 1000, agent("triage", "Show the pier."), trace=4)
    shown = {"gen_ai.response.model": "gpt-4o"}
    c.span("completion", 10, 100, shown, root, trace=4, scope="Microsoft.SemanticKernel", events=[
        (10, "gen_ai.user.message", {"content": "Show the pier."}),
        (90, "gen_ai.choice", {"message": text({"role": "assistant", "tool_calls": [{"id": "p1", "type": "function", "function": {"name": "photo", "arguments": '{"pier":1}'}}]})})])
    picture = llm([chat("user", "Show the pier."), chat("assistant", calls=[("p1", "photo", {"pier": 1})]), chat("tool", "taken", call_id="p1", parts=[{"type": "image", "image.image.url": "data:image/png;base64,iVBORw0KGgo="}])], chat("assistant", "There it is."))
    c.span("ChatCompletion", 200, 300, picture, root, trace=4)
    c.span("handoff", 400, 410, {"step_type": "handoff", "input": "billing"}, root, trace=4)
    placed = {"openinference.span.kind": "TOOL", "tool.name": "answer", "input.value": text({"args": ["A pier."], "kwargs": {}}), "tool.parameters": text({"answer": {"type": "any"}}), "output.value": "A pier."}
    c.span("Answer", 500, 510, placed, root, trace=4)
    stopped = agent("pilot", text({"messages": [{"role": "user", "content": "Sound pier 1."}]}), text({"__interrupt__": [{"value": "May I?"}]}), session__id="s1")
    c.span("pilot", 0, 100, stopped, trace=5)
    c.span("pilot", 5100, 5200, agent("pilot", text({"resume": "yes", "goto": []}), "Sounded.", session__id="s1"), trace=6)


def calls_of_programs():
    c = Case(148, "made-calls-of-programs", "Model calls of programs without agents, asked twice, or told by Python", """
1. A search without an agent: one call rewrites the question, and a call below the answering one checks the answer. Three conversations.
2. One question is answered twice: each attempt is a separate conversation.
3. All spans start at once, with ids in reverse order: the call with more input is later, and a tool precedes the call that read its result.
4. A request and its answer as printed by Python, with an apostrophe; a function's arguments with and without types; an agent whose name is
withheld.
5. A remote agent records its full history and its answer; the tool that ran is in that history, and no turn is invented for it.
6. A server's clock is two hours ahead of the client's, whose span has no kind.
7. Two spans describe one agent: the model calls are below the outer one, and the inner one repeats their answer.
8. An agent records its question and answer, as does the worker in its tool: each has its own conversation.
9. One message per line, and a list of messages that occurs twice.""")
    c.span("POST /ask", 0, 900, {"http.request.method": "POST"}, scope="app")
    root = c.spans[-1][1]["spanId"]
    c.span("chat gpt-4o", 10, 100, genai([chat("system", "Rewrite the query."), chat("user", "tide tmrw?")], chat("assistant", "When is low tide tomorrow?"), (9, 6)), root, scope="app")
    c.span("search", 110, 150, {"openinference.span.kind": "RETRIEVER", "input.value": "When is low tide tomorrow?", "retrieval.documents.0.document.content": "Low at four."}, root, scope="app")
    answer = c.span("chat gpt-4o", 160, 300, genai([chat("system", "Answer from the sources."), chat("user", "tide tmrw? Low at four.")], chat("assistant", "At four."), (20, 3)), root, scope="app")
    c.span("chat gpt-4o", 250, 290, genai([chat("user", "Is this polite: At four.")], chat("assistant", "yes"), (8, 1)), answer, scope="app")
    root = c.span("invoke_agent clerk", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}, trace=2, scope="app")
    for at, said in ((10, "forty"), (200, '{"age":40}')):
        c.span("chat gpt-4o", at, at + 90, genai([chat("system", "JSON alone."), chat("user", "How old?")], chat("assistant", said), (9, 3)), root, trace=2, scope="app")
    ask, calls = chat("user", "How deep?"), [("k1", "sound", {"at": 1})]
    said = chat("assistant", calls=calls)
    ids = [f"0094000300000{n:03x}" for n in (9, 8, 7, 2)]
    c.span("invoke_agent pilot", 5, 5, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, trace=3, scope="app", span_id=ids[0])
    c.span("chat gpt-4o", 5, 5, genai([ask], said, finish="tool_call"), ids[0], trace=3, scope="app", span_id=ids[1])
    c.span("execute_tool sound", 5, 5, ran("sound", "k1", {"at": 1}, "6 m"), ids[0], trace=3, scope="app", span_id=ids[2])
    c.span("chat gpt-4o", 5, 5, genai([ask, said, chat("tool", "6 m", call_id="k1")], chat("assistant", "Six.")), ids[0], trace=3, scope="app", span_id=ids[3])
    root = c.span("invoke_agent <not specified>", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "<not specified>"}, trace=4, scope="app")
    c.span("llm", 10, 90, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "input.value": str({"messages": [{"role": "user", "content": "What's the tide?", "name": None}], "stream": True}),
        "output.value": str({"role": "assistant", "content": "It's low."})}, root, trace=4)
    c.span("add", 100, 120, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "code.function.parameters.n.value": 40, "code.function.parameters.item.type": "str", "code.function.parameters.item.value": "nails",
        "code.function.return.value": "stored"}, root, trace=4, scope="opentelemetry.instrumentation.google_genai")
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "remote", "gen_ai.input.messages": parts([ask, said, chat("tool", "6 m", call_id="k1")]),
            "gen_ai.output.messages": parts([chat("assistant", "Six.")]), "gen_ai.usage.input_tokens": 80, "gen_ai.usage.output_tokens": 20}
    root = c.span("invoke_agent remote", 0, 900, told, trace=5, scope="app", kind=3)
    c.span("execute_tool sound", 10, 20, ran("sound", "k1", {"at": 1}, "6 m"), root, trace=5, scope="app")
    root = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, trace=6, scope="app")
    c.span("chat gpt-4o", 10, 100, genai([ask], said, finish="tool_call"), root, trace=6, scope="app")
    tool = c.span("execute_tool sound", 200, 400, ran("sound", "k1", {"at": 1}, "6 m"), root, trace=6, scope="app")
    c.span("tools/call sound", 250 + 7200_000, 350 + 7200_000, {"mcp.method.name": "tools/call", "gen_ai.tool.name": "sound"}, tool, trace=6, scope="mcp", kind=2)

    root = c.span("invoke_agent Workflow", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Workflow"}, trace=7, scope="app")
    c.span("chat gpt-4o", 10, 200, genai([ask], said, finish="tool_call"), root, trace=7, scope="app")
    inner = c.span("invoke_agent pilot", 210, 800, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", "gen_ai.input.messages": parts([ask]), "gen_ai.output.messages": parts([chat("assistant", "Six.")])}, root, trace=7, scope="app")
    c.span("execute_tool sound", 220, 300, ran("sound", "k1", {"at": 1}, "6 m"), inner, trace=7, scope="app")
    c.span("chat gpt-4o", 310, 790, genai([ask, said, chat("tool", "6 m", call_id="k1")], chat("assistant", "Six.")), root, trace=7, scope="app")
    tells = lambda name, asked, answered, tokens: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.input.messages": parts([chat("user", asked)]),
        "gen_ai.output.messages": parts([chat("assistant", answered)]), "gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 9}
    root = c.span("invoke_agent lead", 0, 900, tells("lead", "How deep is it?", "It is six metres deep.", 90), trace=8, scope="app")
    tool = c.span("execute_tool ask_pilot", 100, 700, ran("ask_pilot", "a1", {"q": "depth"}, "6 m"), root, trace=8, scope="app")
    c.span("invoke_agent pilot", 110, 690, tells("pilot", "depth", "6 m", 40), tool, trace=8, scope="app")
    root = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, trace=9, scope="app")
    for at, (given, answer) in enumerate((('{"role":"user","content":"How deep?"}\n{"role":"assistant","content":"Six."}\n{"role":"user","content":"In feet."}', "Twenty."), (parts([chat("user", "How wide?")]) * 2, "Nine."))):
        call = genai([ask], chat("assistant", answer))
        call["gen_ai.input.messages"] = given
        c.span("chat gpt-4o", 10 + at * 100, 90 + at * 100, call, root, trace=9, scope="app")


def results_without_ids():
    c = Case(149, "made-results-without-ids", "Results without ids, and answers without their calls", """
1. The answer has only text, with tools as its finish reason, and the tools run under an agent without content. The results are in a
different order: each goes to the tool whose argument it names.
2. The same with results that name nothing: they are in call order.
3. The tools have no ids or results; they get the results in order of their start.""")
    ask, done = chat("user", "How deep are both piers?"), chat("assistant", "Five and six.")
    words = chat("assistant", "I sound them.")
    said = lambda: genai([ask], words, (5, 4), finish="tool_calls")
    call_of = lambda at, pier: ran("sound", f"call_{at}{'7f3a' * 5}", {"pier": pier})
    def run(trace, tools, results, below=True):
        root = c.span("invoke_agent lead", 0, 1000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "lead"}, trace=trace, scope="app")
        c.span("chat gpt-4o", 10, 100, said(), root, trace=trace, scope="app")
        around = c.span("invoke_agent pilot", 200, 500, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, root, trace=trace, scope="app") if below else root
        for at, attrs in enumerate(tools):
            c.span("execute_tool sound", 210 + 10 * at, 300 + 10 * at, attrs, around, trace=trace, scope="app")
        c.span("chat gpt-4o", 600, 900, genai([ask, words, *(chat("tool", result) for result in results)], done, (20, 2)), root, trace=trace, scope="app")
    two = [call_of(1, "north"), call_of(2, "south")]
    run(1, two, ["south: 6 m", "north: 5 m"])
    run(2, two, ["5 m", "6 m"])
    run(3, [ran("sound", None, {"pier": "north"}), ran("sound", None, {"pier": "south"})], ["5 m", "6 m"], below=False)


def results_without_calls():
    c = Case(150, "made-results-without-calls", "Results whose calls were recorded nowhere", """
A model reads results of calls that no span or message contains: one names its tool, one has only an id, two have neither. No call is
invented for them. They precede the answer that read them; formats in which a result needs a call keep them with the previous message.""")
    root = c.span("invoke_agent pilot", 0, 1000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, scope="app")
    read = genai([], chat("assistant", "North wind, low tide."), (40, 4))
    result = lambda said, **about: {"role": "tool", "parts": [{"type": "tool_call_response", "response": said, **({"id": about.pop("id")} if "id" in about else {})}], **about}
    asked = {"role": "user", "parts": [{"type": "text", "content": "Wind and tide?"}]}
    read["gen_ai.input.messages"] = text([asked, result("north", id="call_1", name="wind"), result("low", id="call_2"), result({"fog": False}), result("calm")])
    c.span("chat gpt-4o", 100, 900, read, root, scope="app")


def keys_of_more_clients():
    c = Case(151, "made-keys-of-more-clients", "Keys of clients beside GenAI's", """
1. Sentry: request and answer under its own keys, the answer's texts as a list, its calls next to them.
2. LoongSuite: session, user and rounds.
3. Azure's agents: a run of a thread is the agent's work, its messages are events.
4. AG2: failing code, a question to a person, the choice of the next speaker.
5. tRPC-Agent-Go: request and response as JSON, the arguments of calls in Base64.
6. vLLM: a request without text.
7. OpenLIT before 1.34: the messages in one text, each after its role.
8. MCP calls of OpenLLMetry: the call's parameters around the tool's arguments, and the request inside it again.
9. A system prompt as the text of its content blocks, tokens only in the response.
10. A run of a thread of Azure's agents that calls a tool: the calls and their results are events of the run.""")
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}
    ask = chat("user", "How deep?")
    tide = {"pier": "north"}
    wire = lambda call_id: {"id": call_id, "type": "function", "function": {"name": "sound", "arguments": text(tide)}}
    top = c.span("invoke_agent pilot", 0, 900, {**root, "gen_ai.request.messages": text([ask]), "gen_ai.response.text": "Six."}, trace=1, scope="sentry")
    base = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    c.span("chat gpt-4o", 10, 90, {**base, "gen_ai.request.messages": text([ask]), "gen_ai.response.text": text(["I ", "sound."]), "gen_ai.response.tool_calls": text([wire("c1")]),
           "gen_ai.request.available_tools": text([{"name": "sound", "parameters": {}}])}, top, trace=1, scope="sentry")
    c.span("execute_tool sound", 100, 200, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.input": text(tide), "gen_ai.tool.output": "6 m"}, top, trace=1, scope="sentry")
    entry = c.span("enter_ai_application_system", 0, 900, {"gen_ai.span.kind": "ENTRY", "gen_ai.session.id": "s-1", "gen_ai.user.id": "u-1"}, trace=2, scope="loongsuite")
    step = c.span("react step", 10, 800, {"gen_ai.span.kind": "STEP", "gen_ai.operation.name": "react", "gen_ai.react.round": 1, "gen_ai.react.finish_reason": "stop"}, entry, trace=2, scope="loongsuite")
    c.span("chat qwen-max", 20, 700, {"gen_ai.span.kind": "LLM", **genai([ask], chat("assistant", "Six."), (9, 1))}, step, trace=2, scope="loongsuite")
    thread = {"gen_ai.system": "az.ai.agents", "gen_ai.thread.id": "thread_1"}
    told = lambda name, at, content: (at, name, {"gen_ai.system": "az.ai.agents", "gen_ai.event.content": text(content)})
    c.span("process_thread_run", 100, 900, {**thread, "gen_ai.operation.name": "process_thread_run", "gen_ai.agent.id": "asst_1", "gen_ai.thread.run.id": "r1", "gen_ai.thread.run.status": "completed", "gen_ai.response.model": "gpt-4o", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 1},
           trace=3, scope="azure.ai.agents", events=[told("gen_ai.assistant.message", 800, {"content": {"text": {"value": "Six."}}, "role": "assistant"})])
    top = c.span("invoke_agent pilot", 0, 900, {**root, "ag2.span.type": "agent"}, trace=4, scope="ag2")
    c.span("chat gpt-4o", 10, 90, {"ag2.span.type": "llm", **genai([ask], chat("assistant", "Six."), (9, 1))}, top, trace=4, scope="ag2")
    c.span("execute_code pilot", 100, 200, {"ag2.span.type": "code_execution", "gen_ai.operation.name": "execute_code", "ag2.code_execution.exit_code": 1, "ag2.code_execution.output": "boom"}, top, trace=4, scope="ag2")
    c.span("await_human_input", 300, 400, {"ag2.span.type": "human_input", "gen_ai.operation.name": "await_human_input", "ag2.human_input.prompt": "Go on?", "ag2.human_input.response": "yes"}, top, trace=4, scope="ag2")
    c.span("speaker_selection", 500, 600, {"ag2.span.type": "speaker_selection", "gen_ai.operation.name": "speaker_selection"}, top, trace=4, scope="ag2")
    runner = {"trpc.go.agent.runner.name": "harbour", "trpc.go.agent.runner.user_id": "u-1", "trpc.go.agent.runner.session_id": "s-1", "trpc.go.agent.runner.input": text(ask)}
    top = c.span("invocation", 0, 900, {"gen_ai.operation.name": "run_runner", **runner, "trpc.go.agent.runner.output": text({"choices": [{"message": chat("assistant", "Six.")}]})}, trace=5, scope="trpc.agent.go")
    asked = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "c1", "function": {"name": "sound", "arguments": base64.b64encode(text(tide).encode()).decode()}}]}
    c.span("chat gpt-4o", 10, 90, {**base, "trpc.go.agent.llm_request": text({"messages": [ask], "generation_config": {"stream": False}}),
           "trpc.go.agent.llm_response": text({"id": "r1", "model": "gpt-4o-1", "choices": [{"index": 0, "message": asked, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})}, top, trace=5, scope="trpc.agent.go")
    c.span("execute_tool sound", 100, 200, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "trpc.go.agent.tool_call_args": text(tide), "trpc.go.agent.tool_id": "e1",
           "trpc.go.agent.tool_response": text({"choices": [{"message": {"role": "tool", "content": "6 m", "tool_id": "c1"}}]})}, top, trace=5, scope="trpc.agent.go")
    c.span("llm_request", 0, 900, {"gen_ai.response.model": "llama-3", "gen_ai.request.id": "r2", "gen_ai.request.n": 1, "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 16, "gen_ai.latency.time_to_first_token": 0.25, "gen_ai.latency.e2e": 0.9}, trace=6, scope="vllm.llm_engine")
    c.span("chat gpt-4o", 0, 900, {**base, "telemetry.sdk.name": "openlit"}, trace=7, scope="openlit.otel.tracing",
           events=[(0, "gen_ai.content.prompt", {"gen_ai.prompt": "system: Be brief.\nOne word.\nuser: How deep?"}), (900, "gen_ai.content.completion", {"gen_ai.completion": "Six."})])
    mcp = "opentelemetry.instrumentation.mcp"
    called = {"name": "sound", "arguments": tide}
    answer = text({"content": [{"type": "text", "text": "6 m"}], "isError": False})
    outer = c.span("sound.tool", 0, 900, {"traceloop.span.kind": "tool", "traceloop.entity.name": "sound", "traceloop.entity.input": text({"tool_name": "sound", "arguments": tide}), "traceloop.entity.output": answer}, trace=8, scope=mcp)
    c.span("tools/call.mcp", 100, 800, {"mcp.method.name": "tools/call", "mcp.request.argument": text(called), "mcp.response.value": answer}, outer, trace=8, scope=mcp)
    blocks = text([{"type": "text", "text": "Be brief."}])
    said = {"id": "r3", "choices": [{"index": 0, "message": chat("assistant", "Six."), "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    c.span("chat gpt-4o", 0, 900, {**base, "gen_ai.input.messages": text([{"role": "system", "parts": [{"type": "text", "content": blocks}]}, {"role": "user", "parts": [{"type": "text", "content": "How deep?"}]}]), "gen_ai.completion": text(said)}, trace=9, scope="app")
    asks = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "sound", "arguments": tide}}]}
    c.span("process_thread_run", 100, 900, {**thread, "gen_ai.operation.name": "process_thread_run", "gen_ai.agent.id": "asst_1", "gen_ai.thread.run.id": "r2", "gen_ai.thread.run.status": "completed", "gen_ai.response.model": "gpt-4o", "gen_ai.usage.input_tokens": 60, "gen_ai.usage.output_tokens": 15},
           trace=10, scope="azure.ai.agents", events=[told("gen_ai.assistant.message", 300, asks), told("gen_ai.tool.message", 500, {"content": "6 m", "id": "c1"}), told("gen_ai.assistant.message", 800, {"content": {"text": {"value": "Six."}}, "role": "assistant"})])


def words_that_are_none():
    c = Case(170, "made-words-that-are-none", "What is no words, and words that nobody could read", """
1. Model calls with content under unread keys, next to a call without captured content: nothing is claimed about content that may exist.
2. Tools that fail with only a code. The text is in the result: of the next request, of the tool itself, in MCP's form.""")
    agent = lambda name: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    top = c.span("invoke_agent pilot", 0, 1000, agent("pilot"), trace=1, scope="app")
    base = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    c.span("chat gpt-4o", 10, 90, {**base, "gen_ai.usage.input_tokens": 9}, top, trace=1, scope="app")
    c.span("chat gpt-4o", 100, 190, {**base, "gen_ai.exchange.words": "How deep? Six."}, top, trace=1, scope="app")
    c.span("chat gpt-4o", 200, 290, {**base, "llm.input_messages.odd": "How deep?", "openinference.span.kind": "LLM"}, top, trace=1, scope="app")
    ask, done = chat("user", "How deep are the piers?"), chat("assistant", "I cannot say.")
    calls = [(f"k{n}", "sound", {"pier": n}) for n in range(1, 5)]
    root = c.span("invoke_agent pilot", 0, 1000, agent("pilot"), trace=2, scope="app")
    c.span("chat gpt-4o", 10, 200, genai([ask], chat("assistant", calls=calls), (5, 4), finish="tool_calls"), root, trace=2, scope="app")
    told = ["no such pier: 1", "Error: no such pier: 2", "no such pier: 3", text({"isError": True, "content": [{"type": "text", "text": "no such pier: 4"}]})]
    for at, (call_id, name, arguments) in enumerate(calls):
        attrs = {**ran(name, call_id, arguments), "error.type": "TOOL_ERROR", **({"gen_ai.tool.call.result": told[at]} if at % 2 else {})}
        c.span("execute_tool sound", 300 + 50 * at, 340 + 50 * at, attrs, root, trace=2, scope="app", status=(ERROR, "TOOL_ERROR"))
    results = [chat("tool", words, call_id=call_id) for (call_id, *_), words in zip(calls, told)]
    c.span("chat gpt-4o", 600, 900, genai([ask, chat("assistant", calls=calls), *results], done, (20, 2)), root, trace=2, scope="app")


def calls_about_talks():
    c = Case(171, "made-calls-about-talks", "Titles, questions that may follow and summaries, made after the answer", """
No agent has its own output. Later calls of the agent are about the conversation and are not answers: a title, follow-up questions, a
summary, each with the conversation in its input. The second trace has no agent. In the third, the summary that the person asked for follows
a router's choice, and in the fourth, a translation follows a draft: those are answers. In the fifth, the title is generated first: it is
neither the question nor the work; in the sixth, the article is written under the headline, which is part of the work.""")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}
    ask, done = "How deep is the north pier?", "It is six metres deep."
    talk = f"User: {ask}\nAssistant: {done}"
    calls = lambda *list: [(ask, done, None), *list]
    traces = [
        calls((f"Generate a concise, 3-5 word title with an emoji.\n### Chat History:\n{talk}", "Pier depth", None),
              (talk, "Is the south pier deeper?\nWhen is low tide?", "Suggest three follow-up questions that the user may ask."),
              (talk, "The user asked for the depth of a pier.", "Summarize the conversation for the archive.")),
        calls((ask, "Pier depth", "You will generate a short title based on the first message that a user begins with.")),
        [("Please summarize our conversation.", "summary", "Choose: summary or search."), (f"{talk}\nPlease summarize our conversation.", "We spoke of the pier.", "Summarize the conversation.")],
        [("Write of the pier.", "It lies north of the town.", None), ("It lies north of the town.", "Es liegt im Norden der Stadt.", "Translate into German.")],
        [(ask, "Pier depth", "Generate a short title for the conversation."), (ask, done, "You know the harbour.")],
        [("The pier.", "Piers at dawn", "Write a headline on the topic."), ("The pier.\nHeadline: Piers at dawn", "It was grey.", "Write the article.")],
    ]
    for trace, turns in enumerate(traces, 1):
        root = c.span("invoke_agent pilot", 0, 9000, agent, trace=trace, scope="app") if trace != 2 else c.span("POST /chat", 0, 9000, {"http.route": "/chat"}, trace=trace, scope="app")
        for at, (asked, said, prompt) in enumerate(turns):
            given = [*([chat("system", prompt)] if prompt else []), chat("user", asked)]
            c.span("chat gpt-4o", 100 + at * 1000, 900 + at * 1000, genai(given, chat("assistant", said), (9, 4)), root, trace=trace, scope="app")


def times_in_other_units():
    c = Case(172, "made-times-in-other-units", "Times in milliseconds and microseconds", """
Two traces with times in milliseconds and microseconds instead of nanoseconds, with events and a log record; they are dated 2026.""")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}
    for trace in (1, 2):
        root = c.span("invoke_agent pilot", 0, 9000, agent, trace=trace, scope="app")
        call = c.span("chat gpt-4o", 100, 900, genai([], chat("assistant", "Six."), (9, 4)), root, trace=trace, scope="app",
                      events=[(110, "gen_ai.user.message", {"content": "How deep?"})])
        c.log(120, "gen_ai.user.message", call, {"content": "The north pier, I mean."}, trace=trace)
    def scale(at, factor):
        for key in ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "observedTimeUnixNano"):
            if key in at:
                at[key] = str(int(at[key]) // factor)
    for _, span in c.spans:
        factor = {1: 10**6, 2: 10**3}[int(span["traceId"][-4:], 16)]
        for at in (span, *span.get("events", ())):
            scale(at, factor)
    for log in c.logs:
        scale(log, {1: 10**6, 2: 10**3}[int(log["traceId"][-4:], 16)])


def pieces_of_calls():
    c = Case(197, "made-pieces-of-calls", "Calls whose pieces stand apart", """
1. AgentScope: a model's messages are the first argument of a decorated function; a tool's result as printed by Python.
2. traceAI on smolagents: an agent's question is the only argument of its function; a tool's own switch among its arguments.
3. Fiddler: the history has call ids but no names, the tools have names but no ids. One of the calls never ran.
4. An unknown client: the requested calls are next to the model's messages.
5. OpenInference on AG2: a tool's input is the whole call, its output a pair.
6. traceAI on Anthropic: the system prompt as a prompt.
7. An MCP result as printed by Python, which reports a failed tool.""")
    ask, tide = {"role": "user", "content": "How deep?"}, {"pier": "north"}
    prompt = {"role": "system", "content": "Be brief."}
    base = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    part = lambda role, *parts: {"role": role, "parts": list(parts)}
    words = lambda content: {"type": "text", "content": content}
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", "gen_ai.input.messages": text([part("user", words("How deep?"))]),
                 "agentscope.function.input": text({"args": [], "kwargs": {"msg": "Msg(id='m1', name='user', content='How deep?', role='user', metadata={})"}})}, trace=1, scope="agentscope")
    given = lambda *messages: {**base, "agentscope.function.input": text({"args": [list(messages)], "kwargs": {"tools": [{"type": "function", "function": {"name": "sound", "parameters": {}}}], "tool_choice": None}})}
    wire = {"id": "c1", "type": "function", "function": {"name": "sound", "arguments": text(tide)}}
    c.span("chat gpt-4o", 10, 90, {**given(prompt, ask), "gen_ai.output.messages": text([part("assistant", {"type": "tool_call", "id": "c1", "name": "sound", "arguments": tide})])}, top, trace=1, scope="agentscope")
    c.span("execute_tool sound", 100, 200, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": text(tide),
           "gen_ai.tool.call.result": text("ToolResponse(content=[{'type': 'text', 'text': '6 m'}], metadata=None, stream=False, is_last=True, id='7')")}, top, trace=1, scope="agentscope")
    c.span("chat gpt-4o", 300, 390, {**given(prompt, ask, {"role": "assistant", "content": None, "tool_calls": [wire]}, {"role": "tool", "tool_call_id": "c1", "content": "6 m"}), "gen_ai.output.messages": text([part("assistant", words("Six."))])}, top, trace=1, scope="agentscope")
    top = c.span("ToolCallingAgent.run", 0, 900, {"gen_ai.span.kind": "AGENT", "input.value": text({"args": ["How deep?"]}), "output.value": "Six."}, trace=2, scope="traceai_smolagents")
    llm = {"gen_ai.span.kind": "LLM", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages.0.message.role": "user", "gen_ai.input.messages.0.message.content": "How deep?"}
    asks = lambda at: {f"{at}.message.role": "assistant", f"{at}.message.tool_calls.0.tool_call.id": "c1", f"{at}.message.tool_calls.0.tool_call.function.name": "sound", f"{at}.message.tool_calls.0.tool_call.function.arguments": text(tide)}
    c.span("generate", 10, 90, {**llm, **asks("gen_ai.output.messages.0")}, top, trace=2, scope="traceai_smolagents")
    c.span("SimpleTool", 100, 200, {"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "sound", "input.value": text({"args": {}, "pier": "north", "sanitize_inputs_outputs": True}), "output.value": "6 m"}, top, trace=2, scope="traceai_smolagents")
    heard = {"gen_ai.input.messages.2.message.role": "tool", "gen_ai.input.messages.2.message.content": "6 m", "gen_ai.input.messages.2.message.tool_call_id": "c1"}
    c.span("generate", 300, 390, {**llm, **asks("gen_ai.input.messages.1"), **heard, "gen_ai.output.messages.0.message.role": "assistant", "gen_ai.output.messages.0.message.content": "Six."}, top, trace=2, scope="traceai_smolagents")
    top = c.span("trip", 0, 900, {"fiddler.span.type": "chain", "gen_ai.llm.input.user": "How deep?", "gen_ai.llm.output": "Six."}, trace=3, scope="fiddler.otel.tracer")
    call = lambda number: {"type": "tool_call", "name": "", "id": f"c{number}"}
    answer = lambda number, result: part("tool", {"type": "tool_call_response", "response": result, "id": f"c{number}"})
    history = [part("system", words("Be brief.")), part("user", words("How deep?"))]
    model = {"fiddler.span.type": "llm", "gen_ai.request.model": "gpt-4o"}
    c.span("chat", 10, 90, {**model, "gen_ai.input.messages": text(history), "gen_ai.llm.output": "I sound."}, top, trace=3, scope="fiddler.otel.tracer")
    for number, (at, result) in enumerate([(100, "6 m"), (210, "6 m"), (320, "9 m")]):
        c.span("sound", at, at + 90, {"fiddler.span.type": "tool", "gen_ai.tool.name": "sound", "gen_ai.tool.input": text({"pier": number}), "gen_ai.tool.output": result}, top, trace=3, scope="fiddler.otel.tracer")
    history += [part("assistant", words("I sound."), call(1), call(2), call(3), call(4)), answer(1, "6 m"), answer(2, "9 m"), answer(3, "6 m")]
    c.span("chat", 500, 890, {**model, "gen_ai.input.messages": text(history), "gen_ai.llm.output": "Six."}, top, trace=3, scope="fiddler.otel.tracer")
    flat = {"harbour.span.kind": "llm", "harbour.llm.model_name": "gpt-4o", "harbour.llm.input_messages.0.role": "user", "harbour.llm.input_messages.0.content": "How deep?"}
    c.span("create", 0, 90, {**flat, "harbour.llm.output_messages.0.role": "assistant", "harbour.llm.output_messages.0.content": "I sound.", "harbour.llm.finish_reason": "tool_calls",
           "harbour.llm.tool_calls.0.id": "c1", "harbour.llm.tool_calls.0.type": "function", "harbour.llm.tool_calls.0.name": "sound", "harbour.llm.tool_calls.0.arguments": text(tide),
           "harbour.llm.tool_calls.1.id": "c2", "harbour.llm.tool_calls.1.name": "sound", "harbour.llm.tool_calls.1.arguments": text({"pier": "south"})}, trace=4, scope="harbour")
    oi = "openinference.instrumentation.ag2"
    c.span("sound", 100, 200, {"openinference.span.kind": "TOOL", "tool.name": "sound", "tool_call.id": "c1", "tool_call.function.name": "sound", "tool_call.function.arguments": text(tide),
           "input.value": text({"name": "sound", "arguments": text(tide)}), "input.mime_type": "application/json", "output.value": text([True, {"name": "sound", "role": "function", "content": "6 m"}]), "output.mime_type": "application/json"}, trace=5, scope=oi)
    c.span("Messages", 0, 900, {"gen_ai.span.kind": "LLM", "gen_ai.request.model": "claude", "gen_ai.prompts": text("Be brief."), "gen_ai.input.messages.0.message.role": "user", "gen_ai.input.messages.0.message.content": "How deep?",
           "gen_ai.output.messages.0.message.role": "assistant", "gen_ai.output.messages.0.message.content": "Six."}, trace=6, scope="traceai_anthropic")
    c.span("execute_tool sound", 0, 900, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.arguments": text(tide),
           "gen_ai.tool.call.result": "CallToolResult(meta=None, content=[TextContent(type='text', text='too deep', annotations=None, meta=None)], structuredContent=None, isError=True)"}, trace=7, scope="app")


def told_in_other_places():
    c = Case(198, "made-told-in-other-places", "What one operation tells of another", """
1. A person's question as an operation, as the agent's input and in a template: it occurs once, and the template as sent.
2. The question as an operation next to the agent whose model receives it.
3. The question only as an operation.
4. An agent's span records two turns and one sum of tokens and cost: the last call has the sum.
5. The same with model calls without counts.
6. An evaluator's span links to the judged model call.
7. Another one links to a span of another trace: it keeps its scores, with the judged span.
8. Strands: the system prompt is an attribute of the agent, and an event of only the agent.
9. Messages stored elsewhere: a finding says where.
10. Empty objects are not text.""")
    ask, user_input = "How deep is the north pier?", {"openinference.span.kind": "CHAIN", "spanbridge.step_type": "user_input"}
    top = c.span("pilot", 0, 900, agent("pilot", ask, "Six."), trace=1)
    c.span("user_prompt", 10, 11, {**user_input, "input.value": ask}, top, trace=1)
    c.span("ChatCompletion", 20, 800, llm([chat("user", f"Question: {ask}")], chat("assistant", "Six."), (9, 2)), top, trace=1)
    flow = c.span("trip", 0, 950, {"openinference.span.kind": "CHAIN"}, trace=2)
    c.span("user_prompt", 10, 11, {**user_input, "input.value": ask}, flow, trace=2)
    top = c.span("pilot", 20, 900, agent("pilot"), flow, trace=2)
    c.span("ChatCompletion", 30, 800, llm([chat("user", ask)], chat("assistant", "Six."), (9, 2)), top, trace=2)
    top = c.span("pilot", 0, 900, agent("pilot"), trace=3)
    c.span("user_prompt", 10, 11, {**user_input, "input.value": ask}, top, trace=3)
    part = lambda role, *parts: {"role": role, "parts": list(parts)}
    words = lambda content: {"type": "text", "content": content}
    call = {"type": "tool_call", "id": "c1", "name": "sound", "arguments": {"pier": "north"}}
    sums = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "gen_ai.usage.cost": 0.25}
    said = [part("assistant", words("I sound."), call), part("tool", {"type": "tool_call_response", "id": "c1", "response": "6 m"}), part("assistant", words("Six."))]
    top = c.span("invoke_agent pilot", 0, 900, {**sums, "gen_ai.input.messages": text([part("user", words(ask))]), "gen_ai.output.messages": text(said)}, trace=4, scope="app")
    c.span("execute_tool sound", 300, 400, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": text({"pier": "north"}), "gen_ai.tool.call.result": "6 m"}, top, trace=4, scope="app")
    top = c.span("invoke_agent pilot", 0, 900, sums, trace=5, scope="app")
    for at in (10, 500):
        c.span("chat gpt-4o", at, at + 90, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}, top, trace=5, scope="app")
    top = c.span("pilot", 0, 900, agent("pilot", ask, "Six."), trace=6)
    judged = c.span("ChatCompletion", 20, 500, llm([chat("user", ask)], chat("assistant", "Six."), (9, 2)), top, trace=6)
    score = {"openinference.span.kind": "EVALUATOR", "evaluations.0.evaluation.name": "brief", "evaluations.0.evaluation.score": 0.75, "evaluations.0.evaluation.annotator_kind": "CODE"}
    for trace, name in [(6, "brief"), (7, "true")]:
        c.span("judge", 910, 920, {**score, "evaluations.0.evaluation.name": name}, trace=trace, links=[judged])
        c.spans[-1][1]["links"][0]["traceId"] = c.trace_id(6)
    scope, event = "strands.telemetry.tracer", lambda at, role, said: (at, f"gen_ai.{role}.message", {"content": text([{"text": said}])})
    choice = (790, "gen_ai.choice", {"message": text([{"text": "Six."}]), "finish_reason": "end_turn"})
    strands = {"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "strands-agents", "gen_ai.agent.name": "pilot", "gen_ai.request.model": "gpt-4o"}
    for trace, attrs, prompts in [(8, {"system_prompt": "Be brief."}, []), (11, {}, [event(1, "system", "Be brief.")])]:
        top = c.span("invoke_agent pilot", 0, 900, {**strands, **attrs}, trace=trace, scope=scope, events=[*prompts, event(1, "user", ask), choice])
        c.span("chat", 10, 800, {**strands, "gen_ai.operation.name": "chat"}, top, trace=trace, scope=scope, events=[event(11, "user", ask), choice])
    stored = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages_ref": "file:///var/content/in.json", "gen_ai.output.messages_ref": "gs://content/out.json"}
    c.span("chat gpt-4o", 0, 900, stored, trace=9, scope="app")
    top = c.span("pilot", 0, 900, agent("pilot", "{}", "{}"), trace=10)
    c.span("ChatCompletion", 20, 500, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "input.value": "{}", "output.value": "{}"}, top, trace=10)


def plugins_and_ties():
    c = Case(0xf1, 'made-calls-of-one-time', 'Parallel calls of one time', """
Three tools with the same start and end, not named by any model output: they stay in file order, which differs from the order of their ids.""")
    c.resource = {"service.name": "made"}
    c.span('invoke_agent scout', 0, 90, {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'scout'}, scope='my.agent', trace=1, span_id='00f1000100000001', kind=0)
    c.span('chat gpt-4o', 1, 10, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 9, 'gen_ai.usage.output_tokens': 4, 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Look around"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Looking."}], "finish_reason": "tool_call"}]'}, scope='my.agent', trace=1, span_id='00f1000100000002', kind=0, parent='00f1000100000001')
    c.span('execute_tool look_north', 20, 30, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look_north', 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': 'north is clear'}, scope='my.agent', trace=1, span_id='00f1000100000009', kind=0, parent='00f1000100000001')
    c.span('execute_tool look_east', 20, 30, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look_east', 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': 'east is clear'}, scope='my.agent', trace=1, span_id='00f1000100000007', kind=0, parent='00f1000100000001')
    c.span('execute_tool look_south', 20, 30, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look_south', 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': 'south is clear'}, scope='my.agent', trace=1, span_id='00f1000100000008', kind=0, parent='00f1000100000001')
    c.span('chat gpt-4o', 40, 50, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 30, 'gen_ai.usage.output_tokens': 3, 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "All clear."}]}]'}, scope='my.agent', trace=1, span_id='00f1000100000004', kind=0, parent='00f1000100000001')

    c = Case(0xf2, 'made-told-elsewhere', 'What another span has', """
The instructions of Azure's `create_agent` apply to this agent's run; the result of an output tool is only in the agent's history
(pydantic-ai); a workflow passes a question to two agents, and a call merges their answers; two blocks of one response with one usage.""")
    c.resource = {"service.name": "made"}
    c.span('create_agent helper', 0, 5, {'gen_ai.system': 'az.ai.agents', 'gen_ai.operation.name': 'create_agent', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.agent.name': 'helper', 'gen_ai.agent.id': 'asst_1'}, scope='azure.ai.agents', trace=1, span_id='00f2000100000001', kind=0, events=[(1, 'gen_ai.system.message', {'gen_ai.system': 'az.ai.agents', 'gen_ai.event.content': '{"content": "You are helpful"}'})])
    c.span('process_thread_run', 10, 60, {'gen_ai.system': 'az.ai.agents', 'gen_ai.operation.name': 'process_thread_run', 'gen_ai.thread.id': 'thread_1', 'gen_ai.agent.id': 'asst_1', 'gen_ai.thread.run.id': 'run_1', 'gen_ai.response.model': 'gpt-4o', 'gen_ai.usage.input_tokens': 20, 'gen_ai.usage.output_tokens': 5}, scope='azure.ai.agents', trace=1, span_id='00f2000100000002', kind=0, events=[(50, 'gen_ai.assistant.message', {'gen_ai.system': 'az.ai.agents', 'gen_ai.message.id': 'msg_1', 'gen_ai.event.content': '{"content": {"text": {"value": "Hello."}}, "role": "assistant"}'})])
    c.span('invoke_agent bot', 0, 60, {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'bot', 'final_result': '{"city": "Oslo", "temp": 3}', 'pydantic_ai.all_messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather"}]}, {"role": "assistant", "parts": [{"type": "tool_call", "id": "f1", "name": "final_result", "arguments": {"city": "Oslo", "temp": 3}}], "finish_reason": "tool_call"}, {"role": "user", "parts": [{"type": "tool_call_response", "id": "f1", "name": "final_result", "result": "Final result processed."}]}]'}, scope='pydantic-ai', trace=2, span_id='00f2000200000001', kind=0)
    c.span('chat gpt-4o', 5, 50, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "f1", "name": "final_result", "arguments": {"city": "Oslo", "temp": 3}}], "finish_reason": "tool_call"}]', 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 9}, scope='pydantic-ai', trace=2, span_id='00f2000200000002', kind=0, parent='00f2000200000001')
    c.span('workflow.run', 0, 90, {'gen_ai.operation.name': 'invoke_workflow'}, scope='my.workflow', trace=3, span_id='00f2000300000001', kind=0)
    c.span('invoke_agent researcher', 1, 21, {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'researcher'}, scope='my.workflow', trace=3, span_id='00f2000300000002', kind=0, parent='00f2000300000001')
    c.span('chat gpt-4o', 2, 20, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Topic"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Found it"}]}]', 'gen_ai.usage.input_tokens': 11, 'gen_ai.usage.output_tokens': 3}, scope='my.workflow', trace=3, span_id='00f2000300000003', kind=0, parent='00f2000300000002')
    c.span('invoke_agent critic', 30, 50, {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'critic'}, scope='my.workflow', trace=3, span_id='00f2000300000004', kind=0, parent='00f2000300000001')
    c.span('chat gpt-4o', 31, 49, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Topic"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Fine"}]}]', 'gen_ai.usage.input_tokens': 11, 'gen_ai.usage.output_tokens': 3}, scope='my.workflow', trace=3, span_id='00f2000300000005', kind=0, parent='00f2000300000004')
    c.span('chat gpt-4o', 60, 80, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.input.messages': '[{"role": "system", "parts": [{"type": "text", "content": "Join"}]}, {"role": "user", "parts": [{"type": "text", "content": "Found it\\nFine"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Both"}]}]', 'gen_ai.usage.input_tokens': 15, 'gen_ai.usage.output_tokens': 1}, scope='my.workflow', trace=3, span_id='00f2000300000009', kind=0, parent='00f2000300000001')
    c.span('invoke_agent c', 0, 90, {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'c'}, scope='claude-agent', trace=4, span_id='00f2000400000001', kind=0)
    c.span('chat claude', 1, 10, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'msg_1', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 30, 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Go"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Looking."}]}]'}, scope='claude-agent', trace=4, span_id='00f2000400000002', kind=0, parent='00f2000400000001')
    c.span('chat claude', 11, 20, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'msg_1', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 30, 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Go"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "k", "name": "look", "arguments": {"x": 1}}], "finish_reason": "tool_call"}]'}, scope='claude-agent', trace=4, span_id='00f2000400000003', kind=0, parent='00f2000400000001')
    c.span('execute_tool look', 21, 25, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look', 'gen_ai.tool.call.id': 'k', 'gen_ai.tool.call.arguments': '{"x": 1}', 'gen_ai.tool.call.result': 'clear'}, scope='claude-agent', trace=4, span_id='00f2000400000004', kind=0, parent='00f2000400000001')
    c.span('chat claude', 30, 40, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'msg_2', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 30, 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Go"}]}, {"role": "assistant", "parts": [{"type": "text", "content": "Looking."}, {"type": "tool_call", "id": "k", "name": "look", "arguments": {"x": 1}}]}, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "k", "response": "clear"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Clear."}]}]'}, scope='claude-agent', trace=4, span_id='00f2000400000005', kind=0, parent='00f2000400000001')

    c = Case(0xf3, 'made-openclaw-plugins', 'Plugins of OpenClaw, and tools with short keys', """
Latitude's plugin, whose agent has the sums and the answer of its calls; insightClaw; a tool with only `tool.name` and `tool.input`.""")
    c.resource = {"service.name": "made"}
    c.span('agent', 0, 90, {'openclaw.run.id': 'run-1', 'session.id': 's-1', 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-5', 'openclaw.agent.id': 'router-agent', 'openclaw.agent.name': 'router-agent', 'gen_ai.system_instructions': '[{"type": "text", "content": "you are helpful"}]', 'user_prompt': 'hello', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]', 'gen_ai.response.model': 'gpt-5', 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5}, scope='latitude-openclaw', trace=1, span_id='00f3000100000001', kind=0)
    c.span('model_call', 1, 10, {'openclaw.run.id': 'run-1', 'session.id': 's-1', 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-5', 'openclaw.call.id': 'A', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]', 'openclaw.outcome': 'completed'}, scope='latitude-openclaw', trace=1, span_id='00f3000100000002', kind=0, parent='00f3000100000001')
    c.span('tool_call:grep', 11, 20, {'openclaw.run.id': 'run-1', 'session.id': 's-1', 'gen_ai.tool.name': 'grep', 'gen_ai.tool.call.id': 'tc-1', 'gen_ai.tool.call.arguments': '{"q": "x"}', 'gen_ai.tool.call.result': 'match'}, scope='latitude-openclaw', trace=1, span_id='00f3000100000003', kind=0, parent='00f3000100000001')
    c.span('model_call', 21, 30, {'openclaw.run.id': 'run-1', 'session.id': 's-1', 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-5', 'openclaw.call.id': 'B', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}, {"role": "assistant", "parts": [{"type": "tool_call", "id": "tc-1", "name": "grep", "arguments": {"q": "x"}}], "finish_reason": "tool_call"}, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "tc-1", "response": "match"}]}]', 'openclaw.outcome': 'completed'}, scope='latitude-openclaw', trace=1, span_id='00f3000100000004', kind=0, parent='00f3000100000001')
    c.span('openclaw.request', 0, 90, {'openclaw.session.key': 'sess_1', 'openclaw.message.channel': 'discord', 'gen_ai.input.messages': '[{"role": "user", "content": "Check the DB"}]'}, scope='insightClaw', trace=2, span_id='00f3000200000001', kind=0)
    c.span('openclaw.agent.turn', 1, 80, {'gen_ai.agent.id': 'sre-lead', 'gen_ai.response.model': 'claude-sonnet-4', 'gen_ai.usage.input_tokens': 2847, 'gen_ai.usage.output_tokens': 512, 'openclaw.provider': 'anthropic'}, scope='insightClaw', trace=2, span_id='00f3000200000002', kind=0, parent='00f3000200000001')
    c.span('tool.Read', 10, 20, {'tool.name': 'Read', 'gen_ai.agent.id': 'sre-lead', 'gen_ai.tool.call.arguments': '{"path": "/var/log/h.json"}', 'gen_ai.tool.call.result': '{"status": "degraded"}'}, scope='insightClaw', trace=2, span_id='00f3000200000003', kind=0, parent='00f3000200000002')
    c.span('tool.sessions_spawn', 30, 40, {'tool.name': 'sessions_spawn', 'gen_ai.agent.id': 'sre-lead'}, scope='insightClaw', trace=2, span_id='00f3000200000004', kind=0, parent='00f3000200000002')
    c.span('llm.generate', 0, 50, {'gen_ai.system': 'anthropic', 'gen_ai.request.model': 'claude-3-opus', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Explain"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Here."}]}]', 'gen_ai.usage.input_tokens': 15, 'gen_ai.usage.output_tokens': 5}, scope='my.llm', trace=3, span_id='00f3000300000001', kind=0)
    c.span('tool.redis_query', 10, 20, {'tool.name': 'redis_query', 'tool.input': '{"command": "GET", "key": "cache:config"}'}, scope='my.llm', trace=3, span_id='00f3000300000002', kind=0, parent='00f3000300000001')

def keys_of_gateways_and_nested_calls():
    c = Case(0xf4, 'made-keys-of-gateways', 'Keys of gateways, of Eino and of Qwen Code', """
1. Cloudflare AI Gateway: the messages as JSON, the whole response as JSON.
2. The same keys with messages on both sides (Braintrust).
3. Eino: an answer without text is the JSON of its messages; a tool's arguments and result are a prompt and a completion.
4. Qwen Code: text, arguments and results after a line that names their type.
5. A request without text: audio to transcribe.
6. A request whose prompt is tokens.
7. A response that is an image.""")
    c.resource = {"service.name": "made"}
    c.span('POST /openai/chat/completions', 0, 900, {'gen_ai.request.model': 'gpt-4o', 'gen_ai.model.provider': 'openai', 'gen_ai.usage.input_tokens': 50, 'gen_ai.usage.output_tokens': 10, 'gen_ai.prompt_json': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]', 'gen_ai.completion_json': '{"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o-2024", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 50, "completion_tokens": 10}}', 'gen_ai.usage.cost': 0.001, 'user_id': '42'}, scope='cloudflare.ai-gateway', trace=1, span_id='00f4000100000001')
    c.span('llm-call', 0, 900, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.prompt_json': '[{"role": "user", "content": "Hi"}]', 'gen_ai.completion_json': '[{"role": "assistant", "content": "Hello!"}]', 'gen_ai.usage.prompt_tokens': 3, 'gen_ai.usage.completion_tokens': 2}, scope='app', trace=2, span_id='00f4000200000001')
    c.span('ReActAgent', 0, 5000, {'gen_ai.span.kind': 'workflow', 'gen_ai.system': 'eino', 'runinfo.name': 'ReActAgent', 'runinfo.component': 'Graph', 'gen_ai.prompt.0.role': 'system', 'gen_ai.prompt.0.content': 'Be brief.', 'gen_ai.prompt.1.role': 'user', 'gen_ai.prompt.1.content': 'Weather in Oslo?', 'gen_ai.completion.0.role': 'assistant', 'gen_ai.completion.0.content': 'Snow.', 'gen_ai.response.finish_reason': 'stop', 'gen_ai.input': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]', 'gen_ai.output': '{"role": "assistant", "content": "Snow.", "response_meta": {"finish_reason": "stop"}}', 'gen_ai.is_streaming': False}, scope='github.com/cloudwego/eino-ext/callbacks/apmplus', trace=3, span_id='00f4000300000001')
    c.span('ChatModel', 10, 900, {'gen_ai.span.kind': 'chatmodel', 'gen_ai.system': 'eino', 'runinfo.name': 'ChatModel', 'runinfo.component': 'ChatModel', 'gen_ai.prompt.0.role': 'system', 'gen_ai.prompt.0.content': 'Be brief.', 'gen_ai.prompt.1.role': 'user', 'gen_ai.prompt.1.content': 'Weather in Oslo?', 'gen_ai.completion.0.content': '[{"role": "assistant", "content": "", "tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}], "response_meta": {"finish_reason": "tool_calls", "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}}}]', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.request.max_tokens': 0, 'gen_ai.request.temperature': 0.0, 'gen_ai.request.top_p': 0.0, 'gen_ai.response.model': 'gpt-4o', 'gen_ai.usage.total_tokens': 60, 'gen_ai.usage.prompt_tokens': 50, 'gen_ai.usage.completion_tokens': 10, 'gen_ai.is_streaming': False}, scope='github.com/cloudwego/eino-ext/callbacks/apmplus', trace=3, span_id='00f4000300000002', parent='00f4000300000001')
    c.span('Tools', 1000, 1300, {'gen_ai.span.kind': 'toolsnode', 'gen_ai.system': 'eino', 'runinfo.name': 'Tools', 'runinfo.component': 'ToolsNode', 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': '{"role": "assistant", "content": "", "tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}], "response_meta": {"finish_reason": "tool_calls", "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}}}', 'gen_ai.completion.0.content': '[{"role": "tool", "content": "snow", "tool_call_id": "call_a", "tool_name": "get_weather"}]', 'gen_ai.is_streaming': False}, scope='github.com/cloudwego/eino-ext/callbacks/apmplus', trace=3, span_id='00f4000300000003', parent='00f4000300000001')
    c.span('get_weather', 1010, 1290, {'gen_ai.span.kind': 'tool', 'gen_ai.system': 'eino', 'runinfo.name': 'get_weather', 'runinfo.component': 'Tool', 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': '"{\\"city\\":\\"Oslo\\"}"', 'gen_ai.completion.0.content': '"snow"', 'gen_ai.is_streaming': False}, scope='github.com/cloudwego/eino-ext/callbacks/apmplus', trace=3, span_id='00f4000300000004', parent='00f4000300000003')
    c.span('ChatModel', 1400, 2000, {'gen_ai.span.kind': 'chatmodel', 'gen_ai.system': 'eino', 'runinfo.name': 'ChatModel', 'runinfo.component': 'ChatModel', 'gen_ai.prompt.0.role': 'system', 'gen_ai.prompt.0.content': 'Be brief.', 'gen_ai.prompt.1.role': 'user', 'gen_ai.prompt.1.content': 'Weather in Oslo?', 'gen_ai.prompt.3.role': 'tool', 'gen_ai.prompt.3.content': 'snow', 'gen_ai.completion.0.role': 'assistant', 'gen_ai.completion.0.content': 'Snow.', 'gen_ai.response.finish_reason': 'stop', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.request.max_tokens': 0, 'gen_ai.request.temperature': 0.0, 'gen_ai.request.top_p': 0.0, 'gen_ai.response.model': 'gpt-4o', 'gen_ai.usage.total_tokens': 85, 'gen_ai.usage.prompt_tokens': 80, 'gen_ai.usage.completion_tokens': 5, 'gen_ai.is_streaming': False}, scope='github.com/cloudwego/eino-ext/callbacks/apmplus', trace=3, span_id='00f4000300000005', parent='00f4000300000001')
    c.span('qwen-code.interaction', 0, 5000, {'session.id': 's-1', 'gen_ai.conversation.id': 's-1', 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'qwen-code', 'qwen-code.prompt_id': 'p-1', 'qwen-code.model': 'qwen3-coder-plus', 'qwen-code.turn_status': 'ok', 'new_context': '[USER PROMPT]\nWhat is in a.txt?'}, scope='qwen-code', trace=4, span_id='00f4000400000001')
    c.span('qwen-code.llm_request', 10, 900, {'session.id': 's-1', 'gen_ai.conversation.id': 's-1', 'qwen-code.prompt_id': 'p-1', 'gen_ai.request.model': 'qwen3-coder-plus', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cache_read.input_tokens': 10, 'ttft_ms': 100, 'success': True, 'gen_ai.response.id': 'r100', 'gen_ai.response.model': 'qwen3-coder-plus', 'finish_reason': 'STOP', 'gen_ai.response.finish_reasons': ['STOP'], 'thoughts_token_count': 3, 'response.model_output': 'I will read it.', 'system_prompt': 'You are Qwen', 'tools': '[{"name": "read_file", "hash": "aa"}]'}, scope='qwen-code', trace=4, span_id='00f4000400000002', parent='00f4000400000001', events=[(10, 'tool_schema', {'tool_name': 'read_file', 'tool_hash': 'aa', 'tool_definition': '{"name": "read_file", "description": "reads", "parametersJsonSchema": {"type": "object"}}'})])
    c.span('qwen-code.tool', 1000, 1200, {'session.id': 's-1', 'gen_ai.conversation.id': 's-1', 'tool.call_id': 'c1', 'gen_ai.tool.call.id': 'c1', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'read_file', 'gen_ai.tool.type': 'function', 'gen_ai.agent.name': 'qwen-code', 'gen_ai.tool.description': 'd', 'tool_input': '[TOOL INPUT: read_file]\n{"absolute_path": "/a.txt"}', 'tool_result': '[TOOL RESULT: read_file]\nhello', 'success': True}, scope='qwen-code', trace=4, span_id='00f4000400000003', parent='00f4000400000001')
    c.span('qwen-code.tool.execution', 1060, 1190, {'session.id': 's-1', 'gen_ai.tool.name': 'read_file', 'tool.call_id': 'c1', 'success': True, 'execution_status': 'success'}, scope='qwen-code', trace=4, span_id='00f4000400000004', parent='00f4000400000003')
    c.span('qwen-code.llm_request', 1300, 2000, {'session.id': 's-1', 'gen_ai.conversation.id': 's-1', 'qwen-code.prompt_id': 'p-1', 'gen_ai.request.model': 'qwen3-coder-plus', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 150, 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.cache_read.input_tokens': 10, 'ttft_ms': 100, 'success': True, 'gen_ai.response.id': 'r150', 'gen_ai.response.model': 'qwen3-coder-plus', 'finish_reason': 'STOP', 'gen_ai.response.finish_reasons': ['STOP'], 'thoughts_token_count': 3, 'response.model_output': 'It says hello.'}, scope='qwen-code', trace=4, span_id='00f4000400000005', parent='00f4000400000001')
    c.span('Transcription', 0, 1000, {'llm.system': 'openai', 'input.value': '{"model": "whisper-1", "language": "en", "response_format": "json"}', 'input.mime_type': 'application/json', 'output.value': '{"text":"The sun rises in the east and sets in the west. This simple fact has been observed by humans for thousands of years.","usage":{"seconds":7.0,"type":"duration"}}', 'output.mime_type': 'application/json', 'llm.invocation_parameters': '{"model": "whisper-1", "language": "en", "response_format": "json"}', 'openinference.span.kind': 'LLM'}, scope='envoyproxy/ai-gateway', trace=5, span_id='00f4000500000001')
    c.span('Completion', 0, 1000, {'llm.system': 'openai', 'input.value': '{"model": "babbage-002", "prompt": [755, 16178, 1471, 997, 262, 422, 308, 2717, 220, 16, 512, 286, 471, 308, 198, 262, 775, 512, 286, 471, 16178, 1471, 12, 16, 8, 489, 16178, 1471, 12, 17, 8], "max_tokens": 25, "temperature": 0.5, "top_p": 0.9}', 'input.mime_type': 'application/json', 'output.value': '{"id":"cmpl-CKz4nFKJDGUt78k1Kkp0oZqXDOn4u","choices":[{"finish_reason":"length","index":0,"logprobs":null,"text":" + fib(n-3) + fib(n-4)\\n\\nprint fib(1000)\\nprint fib(1000000)\\n"}],"created":1759117373,"model":"babbage:2023-07-21-v2","object":"text_completion","usage":{"completion_tokens":25,"prompt_tokens":31,"total_tokens":56}}', 'output.mime_type': 'application/json', 'llm.invocation_parameters': '{"model": "babbage-002", "max_tokens": 25, "temperature": 0.5, "top_p": 0.9}', 'llm.model_name': 'babbage:2023-07-21-v2', 'llm.token_count.total': 56, 'llm.token_count.prompt': 31, 'llm.token_count.completion': 25, 'llm.choices.0.completion.text': ' + fib(n-3) + fib(n-4)\n\nprint fib(1000)\nprint fib(1000000)\n', 'openinference.span.kind': 'LLM'}, scope='envoyproxy/ai-gateway', trace=6, span_id='00f4000600000001')
    c.span('ImagesResponse', 0, 1000, {'llm.system': 'openai', 'input.value': '{"prompt": "A simple black-and-white line drawing of a cat playing with yarn", "model": "gpt-image-1-mini", "quality": "low", "size": "1024x1024"}', 'input.mime_type': 'application/json', 'output.value': '{"created":1760092079,"data":[{"url":"https://oaidalleapiprodscus.blob.core.windows.net/private/org-lKxIBdltrjcFbzboW0t1hthB/user-EdKNxj0PjYS29CfjUcR77ybc/img-3Ah2ERYmeJLYrRlxnuWPFpXG.png?st=2025-10-10T09%3A27%3A58Z&se=2025-10-10T11%3A27%3A58Z&sp=r&sv=2024-08-04&sr=b&rscd=inline&rsct=image/png&skoid=475fd488-6c59-44a5-9aa9-31c4db451bea&sktid=a48cca56-e6da-484e-a814-9c849652bcb3&skt=2025-10-10T10%3A27%3A58Z&ske=2025-10-11T10%3A27%3A58Z&sks=b&skv=2024-08-04&sig=IlzMauzcIHqE5/JLQsiMglI0mqbGlrpQC/mvJz4TYuc%3D"}]}', 'output.mime_type': 'application/json', 'llm.invocation_parameters': '{"prompt": "A simple black-and-white line drawing of a cat playing with yarn", "model": "gpt-image-1-mini", "quality": "low", "size": "1024x1024"}', 'openinference.span.kind': 'LLM'}, scope='envoyproxy/ai-gateway', trace=7, span_id='00f4000700000001')

    c = Case(0xf5, 'made-calls-in-calls', 'Calls, tools and agents inside others of their kind, and parts of answers that are no words', """
1. A gateway's span with the content of a call encloses a failed attempt and a successful one: two calls.
2. A client's function calls itself after the tools: the outer span has the inner one's answer. Call, tools, call.
3. The input of an activity is the call of a tool whose own span is inside: one execution.
4. An unnamed agent contains only a named one: one agent.
5. The arguments of parallel calls are merged under the last name, and no later request separates them: text, with a finding.
6. An answer has an error among its parts, but its call's span has a different one.
7. Parts of a client's own class contain no text.
8. An error among the parts is the failure of the call if nothing else states one. The text before it is a partial answer: no training row
   ends there.""")
    c.resource = {"service.name": "made"}
    c.span('my agent', 0, 3000, {}, scope='bifrost', trace=1, span_id='00f5000100000001')
    c.span('/v1/chat/completions', 1005, 2005, {'http.request.method': 'POST', 'http.route': '/v1/chat/completions', 'gen_ai.input.messages': 'Weather in Oslo?', 'gen_ai.output.messages': 'Snow.'}, scope='bifrost', trace=1, span_id='00f5000100000005', parent='00f5000100000001')
    c.span('llm.call', 1010, 1200, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.input.messages': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}, {"role": "assistant", "content": "", "reasoning": "Need the tool.", "reasoning_details": [{"type": "reasoning.text", "text": "Need the tool."}], "tool_calls": [{"id": "call_a", "type": "function", "name": "get_weather", "args": "{\\"city\\":\\"Oslo\\"}"}]}, {"role": "tool", "content": "snow", "tool_call_id": "call_a"}]'}, scope='bifrost', trace=1, span_id='00f5000100000006', parent='00f5000100000005', status=(2, 'rate limit'))
    c.span('retry.attempt.1', 1220, 1980, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.response.model': 'gpt-4o-2024', 'gen_ai.usage.prompt_tokens': 80, 'gen_ai.usage.completion_tokens': 5, 'gen_ai.usage.input_tokens': 80, 'gen_ai.usage.output_tokens': 5, 'gen_ai.usage.total_tokens': 85, 'gen_ai.usage.cost': 0.002, 'gen_ai.input.messages': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]', 'gen_ai.output.messages': '[{"role": "assistant", "content": "Snow."}]', 'gen_ai.response.finish_reason': 'stop'}, scope='bifrost', trace=1, span_id='00f5000100000008', parent='00f5000100000005')
    c.span('chat gpt-4o-mini', 0, 1000, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini', 'gen_ai.response.model': 'gpt-4o-mini-2024-07-18', 'gen_ai.usage.input_tokens': 90, 'gen_ai.usage.output_tokens': 10, 'gen_ai.system_instructions': '[{"type": "text", "content": "Be brief."}]', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo and Rome?"}]}, {"role": "assistant", "parts": [{"type": "text", "content": ""}, {"type": "tool_call", "id": "call_a", "name": "get_weather", "arguments": {"city": "Oslo"}}, {"type": "tool_call", "id": "call_b", "name": "get_weather", "arguments": {"city": "Rome"}}]}, {"role": "tool", "parts": [{"type": "text", "content": "snow"}], "tool_call_id": "call_a"}, {"role": "tool", "parts": [{"type": "text", "content": "sun"}], "tool_call_id": "call_b"}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Oslo: snow. Rome: sun."}]}]'}, scope='OpenTelemetry::Instrumentation::RubyLLM', trace=2, span_id='00f5000200000001')
    c.span('execute_tool get_weather', 300, 310, {'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_a', 'gen_ai.tool.call.arguments': '{"city": "Oslo"}', 'gen_ai.tool.type': 'function', 'gen_ai.tool.call.result': 'snow'}, scope='OpenTelemetry::Instrumentation::RubyLLM', trace=2, span_id='00f5000200000002', parent='00f5000200000001')
    c.span('execute_tool get_weather', 310, 320, {'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_b', 'gen_ai.tool.call.arguments': '{"city": "Rome"}', 'gen_ai.tool.type': 'function', 'gen_ai.tool.call.result': 'sun'}, scope='OpenTelemetry::Instrumentation::RubyLLM', trace=2, span_id='00f5000200000003', parent='00f5000200000001')
    c.span('chat gpt-4o-mini', 330, 990, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini', 'gen_ai.response.model': 'gpt-4o-mini-2024-07-18', 'gen_ai.usage.input_tokens': 90, 'gen_ai.usage.output_tokens': 10, 'gen_ai.system_instructions': '[{"type": "text", "content": "Be brief."}]', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo and Rome?"}]}, {"role": "assistant", "parts": [{"type": "text", "content": ""}, {"type": "tool_call", "id": "call_a", "name": "get_weather", "arguments": {"city": "Oslo"}}, {"type": "tool_call", "id": "call_b", "name": "get_weather", "arguments": {"city": "Rome"}}]}, {"role": "tool", "parts": [{"type": "text", "content": "snow"}], "tool_call_id": "call_a"}, {"role": "tool", "parts": [{"type": "text", "content": "sun"}], "tool_call_id": "call_b"}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "Oslo: snow. Rome: sun."}]}]'}, scope='OpenTelemetry::Instrumentation::RubyLLM', trace=2, span_id='00f5000200000004', parent='00f5000200000001')
    c.span('invoke_agent Weather', 0, 6000, {'openinference.span.kind': 'AGENT', 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'Weather', 'agent.name': 'Weather', 'input.value': '{"task": "Weather in Oslo?"}', 'output.value': '{"role": "assistant", "content": "Snow."}'}, scope='dapr_agents', trace=3, span_id='00f5000300000001')
    c.span('Weather.record_initial_entry', 5, 9, {'openinference.span.kind': 'TASK', 'gen_ai.operation.name': 'invoke_agent', 'agent.name': 'Weather', 'input.value': '{"instance_id": "i1"}', 'output.value': 'null'}, scope='dapr_agents', trace=3, span_id='00f5000300000002', parent='00f5000300000001')
    c.span('Weather.call_llm', 10, 900, {'openinference.span.kind': 'LLM', 'gen_ai.operation.name': 'chat', 'agent.name': 'Weather', 'input.value': '{"task": "Weather in Oslo?", "instance_id": "i1"}', 'output.value': '{"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}'}, scope='dapr_agents', trace=3, span_id='00f5000300000003', parent='00f5000300000001')
    c.span('chat gpt-4o', 20, 890, {'openinference.span.kind': 'LLM', 'input.mime_type': 'application/json', 'output.mime_type': 'application/json', 'agent.name': 'ChatClient', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'llm.model_name': 'gpt-4o', 'gen_ai.request.model': 'gpt-4o', 'input.value': '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}], "model": "gpt-4o"}', 'gen_ai.input.messages': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]', 'gen_ai.output.messages': '[{"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}]', 'gen_ai.usage.input_tokens': 50, 'gen_ai.usage.output_tokens': 10, 'llm.token_count.prompt': 50, 'llm.token_count.completion': 10, 'llm.token_count.total': 60, 'output.value': '{"results": [{"message": {"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}, "finish_reason": "stop"}]}', 'llm.input_messages.0.message.role': 'system', 'llm.input_messages.0.message.content': 'Be brief.', 'llm.input_messages.1.message.role': 'user', 'llm.input_messages.1.message.content': 'Weather in Oslo?', 'llm.output_messages.0.message.role': 'assistant', 'llm.output_messages.0.message.content': ''}, scope='dapr_agents', trace=3, span_id='00f5000300000004', parent='00f5000300000003')
    c.span('Weather.run_tool', 1000, 1300, {'openinference.span.kind': 'TOOL', 'gen_ai.operation.name': 'execute_tool', 'agent.name': 'Weather', 'input.value': '{"tool_call": {"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}, "instance_id": "i1", "time": "2026-11-28T01:00:00Z", "order": 0}', 'output.value': '{"role": "tool", "name": "GetWeather", "content": "snow", "tool_call_id": "call_a"}', 'workflow.activity': 'run_tool'}, scope='dapr_agents', trace=3, span_id='00f5000300000005', parent='00f5000300000001')
    c.span('execute_tool GetWeather', 1010, 1290, {'openinference.span.kind': 'TOOL', 'input.value': '{"tool_name": "GetWeather", "args": [], "kwargs": {"city": "Oslo"}}', 'input.mime_type': 'application/json', 'agent.name': 'AgentToolExecutor', 'tool.name': 'GetWeather', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'GetWeather', 'output.value': 'snow', 'output.mime_type': 'application/json'}, scope='dapr_agents', trace=3, span_id='00f5000300000006', parent='00f5000300000005')
    c.span('Weather.call_llm', 1400, 2000, {'openinference.span.kind': 'LLM', 'gen_ai.operation.name': 'chat', 'agent.name': 'Weather', 'input.value': '{"instance_id": "i1"}', 'output.value': '{"role": "assistant", "content": "Snow."}'}, scope='dapr_agents', trace=3, span_id='00f5000300000007', parent='00f5000300000001')
    c.span('chat gpt-4o', 1410, 1990, {'openinference.span.kind': 'LLM', 'input.mime_type': 'application/json', 'output.mime_type': 'application/json', 'agent.name': 'ChatClient', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'llm.model_name': 'gpt-4o', 'gen_ai.request.model': 'gpt-4o', 'input.value': '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}, {"role": "tool", "content": "snow", "tool_call_id": "call_a"}], "model": "gpt-4o"}', 'gen_ai.input.messages': '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "GetWeather", "arguments": "{\\"city\\":\\"Oslo\\"}"}}]}, {"role": "tool", "content": "snow", "tool_call_id": "call_a"}]', 'gen_ai.output.messages': '[{"role": "assistant", "content": "Snow."}]', 'gen_ai.usage.input_tokens': 80, 'gen_ai.usage.output_tokens': 5, 'llm.token_count.prompt': 80, 'llm.token_count.completion': 5, 'llm.token_count.total': 85, 'output.value': '{"results": [{"message": {"role": "assistant", "content": "Snow."}, "finish_reason": "stop"}]}', 'llm.input_messages.0.message.role': 'system', 'llm.input_messages.0.message.content': 'Be brief.', 'llm.input_messages.1.message.role': 'user', 'llm.input_messages.1.message.content': 'Weather in Oslo?', 'llm.input_messages.2.message.role': 'assistant', 'llm.input_messages.2.message.content': '', 'llm.input_messages.3.message.role': 'tool', 'llm.input_messages.3.message.content': 'snow', 'llm.output_messages.0.message.role': 'assistant', 'llm.output_messages.0.message.content': 'Snow.'}, scope='dapr_agents', trace=3, span_id='00f5000300000008', parent='00f5000300000007')
    c.span('reply', 0, 5000, {'session.id': 'g1', 'gen_ai.operation.name': 'invoke_agent', 'user_message': 'What is in a.txt?', 'trace_input': 'What is in a.txt?', 'gen_ai.input.messages': '[{"role": "user", "content": "What is in a.txt?"}]'}, scope='goose', trace=4, span_id='00f5000400000001')
    c.span('invoke_agent goose', 5, 4990, {'session.id': 'g1', 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'goose', 'gen_ai.conversation.id': 'g1', 'trace_input': 'What is in a.txt?', 'trace_output': 'It says hello.', 'session.agent_type': 'goose'}, scope='goose', trace=4, span_id='00f5000400000009', parent='00f5000400000001')
    c.span('chat', 10, 900, {'session.id': 'g1', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4', 'gen_ai.response.model': 'claude-sonnet-4', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.response.finish_reasons': '["tool_call"]'}, scope='goose', trace=4, span_id='00f5000400000002', parent='00f5000400000009')
    c.span('execute_tool', 1000, 1200, {'session.id': 'g1', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'developer__shell', 'gen_ai.tool.call.id': 'c1', 'gen_ai.tool.call.arguments': '{"command": "cat a.txt"}', 'gen_ai.tool.call.result': '{"content": [{"type": "text", "text": "hello"}], "isError": false}'}, scope='goose', trace=4, span_id='00f5000400000003', parent='00f5000400000009')
    c.span('chat', 1300, 2000, {'session.id': 'g1', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4', 'gen_ai.response.model': 'claude-sonnet-4', 'gen_ai.usage.input_tokens': 150, 'gen_ai.usage.output_tokens': 10, 'gen_ai.response.finish_reasons': '["stop"]'}, scope='goose', trace=4, span_id='00f5000400000004', parent='00f5000400000009')
    c.span('chat claude-sonnet-4', 0, 900, {'telemetry.sdk.name': 'openlit', 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4', 'gen_ai.request.is_stream': True, 'gen_ai.response.model': 'claude-sonnet-4', 'gen_ai.usage.input_tokens': 50, 'gen_ai.usage.output_tokens': 20, 'gen_ai.response.finish_reasons': ['tool_use'], 'gen_ai.tool.call.id': 'toolu_2', 'gen_ai.tool.name': 'get_time', 'gen_ai.tool.args': '{"city":"Oslo"}{"tz":"UTC"}', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "toolu_2", "name": "get_time", "arguments": "{\\"city\\":\\"Oslo\\"}{\\"tz\\":\\"UTC\\"}"}], "finish_reason": "tool_call"}]'}, scope='openlit.otel.tracing', trace=5, span_id='00f5000500000001')
    c.span('chat gpt-5', 0, 3000, {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5', 'gen_ai.provider.name': 'openai', 'gen_ai.request.stream': True, 'gen_ai.tool.definitions': '[{"type": "code_interpreter"}, {"type": "mcp"}]', 'gen_ai.system_instructions': '[{"type": "text", "content": "Be brief."}]', 'gen_ai.input.messages': '[\n  {\n    "role": "user",\n    "parts": [\n      {\n        "type": "text",\n        "content": "What is 2**10, and who owns repo x?"\n      }\n    ]\n  }\n]', 'gen_ai.output.messages': '[\n  {\n    "role": "assistant",\n    "parts": [\n      {\n        "type": "text",\n        "content": "Partial ans"\n      },\n      {\n        "type": "error",\n        "content": "content filter"\n      }\n    ]\n  }\n]', 'gen_ai.response.finish_reasons': '["stop"]', 'gen_ai.response.id': 'resp_1', 'gen_ai.response.model': 'gpt-5-2025', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 60, 'gen_ai.usage.reasoning.output_tokens': 12, 'error.type': 'System.Net.Http.HttpRequestException'}, scope='Experimental.Microsoft.Extensions.AI', trace=6, span_id='00f5000600000001', status=(2, 'boom'))
    c.span('chat claude-sonnet-4', 10, 900, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4', 'gen_ai.conversation.id': 'k1', 'gen_ai.response.model': 'claude-sonnet-4-1', 'gen_ai.response.id': 'm100', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cache_read.input_tokens': 40, 'gen_ai.response.finish_reasons': 'tool_use', 'gen_ai.system_instructions': '[{"type": "text", "content": "Be brief."}]', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo and Rome?"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "generic", "class": "ContentThinking"}, {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}, {"type": "tool_call", "id": "c2", "name": "get_weather", "arguments": {"city": "Rome"}}]}]'}, scope='co.posit.r-package.ellmer', trace=7, span_id='00f5000700000002')
    c.span('execute_tool get_weather', 910, 1000, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.description': 'w', 'gen_ai.tool.call.id': 'c1'}, scope='co.posit.r-package.ellmer', trace=7, span_id='00f5000700000003')
    c.span('execute_tool get_weather', 1010, 1100, {'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.description': 'w', 'gen_ai.tool.call.id': 'c2', 'error.type': 'simpleError'}, scope='co.posit.r-package.ellmer', trace=7, span_id='00f5000700000004', status=(2, ''), events=[(1099, 'exception', {'exception.message': 'no such city', 'exception.type': 'simpleError'})])
    c.span('chat claude-sonnet-4', 1200, 2900, {'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4', 'gen_ai.conversation.id': 'k1', 'gen_ai.response.model': 'claude-sonnet-4-1', 'gen_ai.response.id': 'm150', 'gen_ai.usage.input_tokens': 150, 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.cache_read.input_tokens': 40, 'gen_ai.response.finish_reasons': 'end_turn', 'gen_ai.system_instructions': '[{"type": "text", "content": "Be brief."}]', 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo and Rome?"}]}, {"role": "assistant", "parts": [{"type": "generic", "class": "ContentThinking"}, {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}, {"type": "tool_call", "id": "c2", "name": "get_weather", "arguments": {"city": "Rome"}}]}, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"temp": -3}}, {"type": "tool_call_response", "id": "c2", "response": "Tool calling failed with error no such city"}]}]', 'gen_ai.output.messages': '[{"role": "assistant", "parts": [{"type": "text", "content": "-3 in Oslo; Rome unknown."}]}]'}, scope='co.posit.r-package.ellmer', trace=7, span_id='00f5000700000005')
    c.span('chat gpt-5', 0, 90, {**{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}, "gen_ai.input.messages": text([{"role": "user", "parts": [{"type": "text", "content": "How deep?"}]}]), "gen_ai.output.messages": text([{"role": "assistant", "parts": [{"type": "text", "content": "Six me"}, {"type": "error", "content": "content filter"}]}])}, scope='Experimental.Microsoft.Extensions.AI', trace=8, span_id='00f5000800000001')



def keys_of_newer_clients():
    c = Case(0xf6, "made-keys-of-newer-clients", "Keys of newer gateways and agents", """
1. OpenRouter: the answer is an object of text, thought and calls; its attempts at providers are not calls.
2. OpenRouter: an answer without calls.
3. eve: an action and the tool that it runs are one execution; approved by a person; an agent is called.
4. Cloudflare Agents: a question to a person is not an execution of the tool.
5. Latitude: the result of a tool.
6. Embabel: steps of its platform, and a search.
7. LiteLLM: a guardrail. TrueFoundry: a call of an MCP server.
8. MCP results as printed by Python: their text, and a failure.
9. An agent records its turns, and a later agent the result of its tool: it ran between the turns.
10. Kibana: events with flattened members.
11. n8n: an agent's list of tools is not its question; its memory is read and written.
12. goose: functions by their own names.""")
    c.resource = {"service.name": "made"}
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What is in the shed?", "cache_control": {"type": "ephemeral"}}]}]
    call = {"id": "toolu_1", "type": "function", "index": 0, "function": {"name": "look", "arguments": text({"in": "shed"})}}
    went = [*asked, {"role": "assistant", "content": "I will look.", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "toolu_1", "content": "A rake."}]
    for trace, before, said, why, calls in ((1, asked, "I will look.", "The shed is near.", [call]), (2, went, "A rake.", None, None)):
        model, of_call = "anthropic/claude-haiku-4.5", f"gen-{trace}"
        offered = [{"type": "function", "function": {"name": "look", "description": "Looks into a place.", "parameters": {"type": "object", "properties": {"in": {"type": "string"}}}}}]
        given, gave = text({"messages": before}), text({"completion": said, "reasoning": why, "toolCalls": calls, "tools": None, "rawRequest": {"model": model, "messages": before, "stream": True, "tools": offered}})
        same = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.provider.name": "anthropic", "session.id": "shed"}
        root = c.span("LLM Generation", 0, 2000, {**same, "gen_ai.response.model": "anthropic/claude-4.5-haiku", "gen_ai.response.id": of_call, "gen_ai.response.finish_reason": "tool_calls" if calls else "stop", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "gen_ai.usage.total_tokens": 120, "gen_ai.usage.input_tokens.cached": 40, "gen_ai.usage.input_tokens.cache_write": 10, "gen_ai.usage.output_tokens.reasoning": 5, "gen_ai.usage.total_cost": 0.002, "span.type": "generation", "gen_ai.prompt": given, "gen_ai.completion": gave, "span.input": given, "span.output": gave, "trace.input": given, "trace.output": gave}, scope="openrouter", trace=trace, kind=3)
        at = c.span("generation", 500, 1990, {**same, "gen_ai.response.id": f"{of_call}:generation"}, root, scope="openrouter", trace=trace)
        c.span("provider attempt 1: Novita", 510, 700, {**same, "gen_ai.response.id": f"{of_call}:attempt-0"}, at, status=(2, "429"), scope="openrouter", trace=trace)
        c.span("provider attempt 2: Anthropic", 710, 1980, {**same, "gen_ai.response.id": f"{of_call}:attempt-1"}, at, scope="openrouter", trace=trace)

    say = lambda role, words: {"role": role, "parts": [{"type": "text", "content": words}]}
    ask = lambda *calls: {"role": "assistant", "parts": [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls], "finish_reason": "tool_call"}
    told = lambda i, result: {"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": result}]}
    def model(before, answer, **more):
        return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-opus-4.8", "gen_ai.provider.name": "anthropic", "gen_ai.input.messages": text(before), "gen_ai.output.messages": text([answer]), "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20, **more}
    eve = dict(scope="eve.agent", trace=3)
    run = c.span("invoke_agent gardener", 0, 20000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "gardener", "agent.turn.id": "t1", "agent.turn.outcome": "completed", "agent.session.id": "s3", "gen_ai.usage.input_tokens": 200, "gen_ai.usage.output_tokens": 40}, **eve)
    step = c.span("agent.step", 100, 9000, {"agent.step.index": 0, "agent.model.id": "claude-opus-4.8", "agent.usage.input_tokens": 100, "agent.usage.output_tokens": 20, "gen_ai.usage.cost": 0.01}, run, **eve)
    before = [say("user", "Water the beds and ask the botanist.")]
    first = ask(("k1", "water", {"bed": 2}), ("k2", "botanist", {"message": "How much?"}))
    c.span("chat claude-opus-4.8", 110, 900, model(before, first, **{"ai.response.tool_calls": text([{"callId": "k1", "toolName": "water", "input": {"bed": 2}}, {"callId": "k2", "toolName": "botanist", "input": {"message": "How much?"}}])}), step, kind=3, **eve)
    action = {"agent.action.call_id": "k1", "agent.action.name": "water", "agent.action.kind": "tool-call", "agent.action.outcome": "completed", "gen_ai.tool.call.arguments": text({"bed": 2}), "gen_ai.tool.call.result": text("wet")}
    c.span("agent.approval", 910, 1900, {"agent.approval.kind": "tool-approval", "agent.approval.request_id": "q1", "agent.action.call_id": "k1", "agent.action.name": "water", "agent.approval.outcome": "approved"}, step, **eve)
    at = c.span("agent.action", 1910, 2900, action, step, **eve)
    c.span("execute_tool water", 1920, 2890, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "water", "gen_ai.tool.call.id": "k1", "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": text({"bed": 2}), "gen_ai.tool.call.result": text("wet")}, at, **eve)
    at = c.span("agent.action", 1915, 5900, {"agent.action.call_id": "k2", "agent.action.name": "botanist", "agent.action.kind": "subagent-call", "agent.action.outcome": "completed", "agent.invocation.role": "caller", "gen_ai.agent.name": "botanist"}, step, **eve)
    at = c.span("invoke_agent botanist", 2000, 5800, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "botanist", "agent.run.type": "subagent", "agent.parent_call.id": "k2"}, at, **eve)
    c.span("chat claude-opus-4.8", 2100, 5700, model([say("user", "How much?")], say("assistant", "Two litres.")), at, kind=3, **eve)
    step = c.span("agent.step", 9100, 19000, {"agent.step.index": 1, "agent.model.id": "claude-opus-4.8"}, run, **eve)
    c.span("chat claude-opus-4.8", 9110, 18000, model([*before, first, told("k1", "wet"), told("k2", "Two litres.")], say("assistant", "Done, two litres.")), step, kind=3, **eve)

    flare = dict(scope="cloudflare.agents", trace=4)
    run = c.span("invoke_agent keeper", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "keeper", "cloudflare.agents.operation.name": "chat.turn"}, **flare)
    before, first = [say("user", "Burn the leaves.")], ask(("k1", "burn", {"heap": 1}))
    c.span("chat claude-opus-4.8", 10, 900, model(before, first), run, kind=3, **flare)
    tool_span = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "burn", "gen_ai.tool.call.id": "k1", "gen_ai.tool.type": "function"}
    at = c.span("execute_tool burn", 1000, 1900, {**tool_span, "gen_ai.tool.call.arguments": text({"heap": 1}), "gen_ai.tool.call.result": text("ash")}, run, **flare)
    c.span("tool_approval burn", 1001, 1001, {**tool_span, "cloudflare.agents.operation.name": "tool.approval", "cloudflare.agents.tool.approval.state": "approved"}, at, **flare)
    c.span("chat claude-opus-4.8", 2000, 8000, model([*before, first, told("k1", "ash")], say("assistant", "Burnt.")), run, kind=3, **flare)

    late = dict(scope="so.latitude.instrumentation.latitude", trace=5)
    run = c.span("prompt", 0, 9000, {"latitude.type": "prompt"}, **late)
    c.span("openai / gpt-4o", 10, 900, model([say("user", "Is it open?")], ask(("k1", "look", {}))), run, **late)
    c.span("look", 1000, 1100, {"latitude.type": "tool", "gen_ai.operation.name": "tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "k1", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.result.value": text({"error": "no key"}), "gen_ai.tool.result.is_error": True}, run, **late)

    spring = dict(scope="org.springframework.boot", trace=6)
    run = c.span("agent smith", 0, 9000, {"gen_ai.operation.name": "agent", "embabel.agent.name": "smith", "input.value": "How hot?", "output.value": "900 C."}, **spring)
    c.span("lifecycle", 5, 5, {"gen_ai.operation.name": "lifecycle", "embabel.lifecycle.state": "RUNNING"}, run, **spring)
    c.span("planning", 10, 10, {"gen_ai.operation.name": "planning", "embabel.plan.goal": "answer"}, run, **spring)
    at = c.span("action answer", 20, 8000, {"gen_ai.operation.name": "execute_action", "embabel.action.name": "answer"}, run, **spring)
    c.span("rag", 30, 90, {"gen_ai.operation.name": "rag", "embabel.rag.query": "heat of a forge"}, at, **spring)
    at = c.span("tool-loop", 100, 7000, {"gen_ai.operation.name": "tool_loop", "embabel.tool_loop.max_iterations": "20"}, at, **spring)
    c.span("chat gpt-4o", 110, 6000, model([say("user", "How hot?")], say("assistant", "900 C."), **{"embabel.interaction.id": "i"}), at, **spring)
    c.span("goal answer", 8100, 8100, {"gen_ai.operation.name": "goal_achieved", "embabel.goal.name": "answer"}, run, **spring)

    gate = dict(scope="litellm", trace=7)
    run = c.span("POST /v1/chat/completions", 0, 9000, {"http.request.method": "POST", "http.route": "/v1/chat/completions"}, kind=2, **gate)
    c.span("execute_guardrail pii", 10, 90, {"litellm.guardrail.name": "pii", "litellm.guardrail.mode": "pre_call", "litellm.guardrail.status": "success", "litellm.guardrail.response": text({"found": 0})}, run, **gate)
    c.span("chat gpt-4o", 100, 900, model([say("user", "Deep?")], ask(("k1", "sound", {"pier": 1}))), run, kind=3, **gate)
    c.span("MCP: sound", 1000, 1100, {"tfy.span_type": "MCP", "tfy.mcp.tool_name": "sound", "tfy.input": text({"pier": 1}), "tfy.output": text({"content": [{"type": "text", "text": "6 m"}]})}, run, scope="tfy-llm-gateway", trace=7)
    c.span("chat gpt-4o", 1200, 8000, model([say("user", "Deep?"), ask(("k1", "sound", {"pier": 1})), told("k1", "6 m")], say("assistant", "Six.")), run, kind=3, **gate)

    run = c.span("agent", 0, 9000, agent("pilot", "Deep?", "Six."), trace=8)
    printed = "meta=None content=[TextContent(type='text', text='6 m', annotations=None, meta=None)] structuredContent=None isError=False"
    asked = [chat("user", "Deep?")]
    calls = chat("assistant", calls=[("k1", "sound", {"pier": 1}), ("k2", "sound", {"pier": 2}), ("k3", "sound", {"pier": 3})])
    c.span("ChatOpenAI", 10, 900, llm(asked, calls), run, trace=8)
    results = (printed, printed.replace("6 m", "no such pier").replace("False", "True"), "[TextContent(type='text', text='7 m', annotations=None)]")
    for place, result in enumerate(results, 1):
        c.span("sound", 1000 * place, 1000 * place + 90, tool("sound", f"k{place}", {"pier": place}, result), run, trace=8)
    c.span("ChatOpenAI", 5000, 8000, llm([*asked, calls, *(chat("tool", r, call_id=f"k{i}") for i, r in enumerate(results, 1))], chat("assistant", "Six.")), run, trace=8)

    foundry = dict(scope="made", trace=9)
    run = c.span("workflow", 0, 30000, {}, **foundry)
    def of_agent(name, before, *answers):
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.request.model": "gpt-5.4", "gen_ai.provider.name": "microsoft.foundry", "gen_ai.conversation.id": "c9", "gen_ai.input.messages": text(before), "gen_ai.output.messages": text(answers), "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
    search = {"queries": ["depth"]}
    before = [say("developer", "You prepare."), say("user", "How deep is the bay?")]
    c.span("invoke_agent Preparer", 0, 9000, of_agent("Preparer", before, {"role": "assistant", "parts": [{"type": "tool_call", "name": "file_search.msearch", "arguments": search}], "finish_reason": "tool_calls"}, say("assistant", "Six metres.")), run, **foundry)
    went = [*before, ask(("fs_1", "file_search.msearch", search)), told("fs_1", "# Chart: 6 m"), say("assistant", "Six metres."), say("user", "Review it.")]
    c.span("invoke_agent Reviewer", 10000, 19000, of_agent("Reviewer", went, say("assistant", "It is right.")), run, **foundry)

    kibana = dict(scope="inference", trace=10)
    run = c.span("Converse", 0, 9000, {"elastic.inference.span.kind": "CHAIN"}, **kibana)
    of_call = {"function.name": "sound", "function.arguments": text({"pier": 1}), "id": "k1", "type": "function"}
    asking = lambda prefix: {prefix + "role": "assistant", **{f"{prefix}tool_calls.0.{key}": value for key, value in of_call.items()}}
    said = lambda role, words: (f"gen_ai.{role}.message", {"content": words, "role": role})
    before = [said("system", "Be brief."), said("user", "How deep?")]
    went = [*before, ("gen_ai.assistant.message", asking("")), ("gen_ai.tool.message", {"role": "tool", "id": "k1", "content": text({"depth": "6 m"})})]
    same = {"elastic.inference.span.kind": "LLM", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.system": "openai"}
    for at, given, choice in ((10, before, {"finish_reason": "tool_calls", "index": 0, **asking("message.")}), (2000, went, {"finish_reason": "stop", "index": 0, "message.role": "assistant", "message.content": "Six metres."})):
        c.span("ChatComplete", at, at + 900, same, run, events=[*((at, name, members) for name, members in given), (at + 890, "gen_ai.choice", choice)], **kibana)
    c.span("execute_tool sound", 1000, 1100, {"elastic.inference.span.kind": "TOOL", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.id": "k1", "gen_ai.tool.call.arguments": text({"pier": 1}), "gen_ai.tool.call.result": text({"depth": "6 m"})}, run, **kibana)

    flow = dict(scope="n8n-agents", trace=11)
    tools = [{"name": "sound", "description": "Sounds.", "type": "local", "input_schema": {"type": "object", "properties": {"pier": {"type": "number"}}}}]
    run = c.span("pilot.generate", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", "gen_ai.request.model": "openai/gpt-4o", "gen_ai.conversation.id": "c11", "gen_ai.prompt": text({"agent": "pilot", "tool_count": 1, "tools": tools})}, **flow)
    c.span("query_memory", 10, 90, {"gen_ai.operation.name": "query_memory", "gen_ai.agent.name": "pilot", "gen_ai.memory.ids": ["m1"], "gen_ai.memory.operations": ["query_memory"]}, run, **flow)
    c.span("execute_tool sound", 1000, 1100, {"ai.operationId": "ai.toolCall", "ai.telemetry.functionId": "pilot", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.id": "k1", "gen_ai.agent.name": "pilot", "ai.toolCall.name": "sound", "ai.toolCall.id": "k1", "ai.toolCall.args": text({"pier": 1}), "gen_ai.tool.call.arguments": text({"pier": 1}), "ai.toolCall.result": text("6 m"), "gen_ai.tool.call.result": text("6 m")}, run, **flow)
    c.span("save_memory", 8000, 8100, {"gen_ai.operation.name": "save_memory", "gen_ai.agent.name": "pilot", "gen_ai.memory.ids": ["m2"], "gen_ai.memory.operations": ["created"], "gen_ai.memory.descriptions": ["The bay is six metres deep."]}, run, **flow)

    bird = dict(scope="goose", trace=12)
    run = c.span("reply", 0, 900, {"user_message": "How deep?", "trace_input": "How deep?", "session.id": "s12"}, **bird)
    at = c.span("reply_stream", 100, 9000, {"session.id": "s12", "trace_output": "Six metres."}, run, **bird)
    c.span("dispatch_tool_call", 1000, 1100, {"input": text({"tool": "bay__sound", "arguments": {"pier": 1}}), "session.id": "s12"}, at, **bird)


def turns_in_one_span():
    c = Case(0xf9, "made-turns-in-one-span", "Several turns in one span, and words of frameworks", """
1. Mastra without the spans of its steps: one span for all turns has their text and calls in one message.
2. Latitude's first spans of Claude Code: the same, with equal times for all spans of a turn; a sub-agent in a tool.
3. Latitude's later spans of Claude Code: one per model call.
4. A tool that runs while the answer still streams: the next call receives its result, so nothing is split.
5. Agent 365: the result of a tool under an older key, messages with a version around them.
6. eve: text that the framework added to the message of a person, who asked something else.
7. AgentScope: formatting a request's messages and a traced function are not calls. A guardrail with keys not yet in OTel GenAI.
8. LiveKit with input deltas: a call has only messages since an earlier one, whose last message may be missing.
9. Dify: the span around a workflow's nodes has no kind, and the first node has the question among other values.
10. The span of a model call encloses its tool, and ends with it: the text precedes the call.""")
    c.resource = {"service.name": "made"}
    part = lambda role, *parts, **more: {"role": role, "parts": list(parts), **more}
    words = lambda content: {"type": "text", "content": content}
    asks = lambda number: {"type": "tool_call", "id": f"c{number}", "name": "sound", "arguments": {"pier": number}}
    heard = lambda number, said: part("tool", {"type": "tool_call_response", "id": f"c{number}", "response": said})
    ask = part("user", words("How deep?"))
    ran = lambda number, said: {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sound", "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": text({"pier": number}), **({} if said is None else {"gen_ai.tool.call.result": said})}
    said = lambda *messages: {"gen_ai.output.messages": text(list(messages))}
    given = lambda *messages: {"gen_ai.input.messages": text(list(messages))}
    tokens = lambda went, came: {"gen_ai.usage.input_tokens": went, "gen_ai.usage.output_tokens": came}
    chat_of = lambda model: {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}

    where = dict(trace=1, scope="@mastra/otel-exporter")
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "mastra.span.type": "agent_run", "gen_ai.agent.name": "pilot", "mastra.agent_run.input": text([{"role": "user", "content": "How deep?"}]),
                 "mastra.agent_run.output": text({"text": "I sound. Six.", "files": []})}, **where)
    all_turns = said(part("assistant", words("I sound. Six."), asks(1), asks(2)))
    at = c.span("chat gpt-4o", 10, 800, {**chat_of("gpt-4o"), "mastra.span.type": "model_generation", "gen_ai.response.finish_reasons": text(["stop"]), **given(part("system", words("Be brief.")), ask), **all_turns, **tokens(28, 6)}, top, **where)
    c.span("execute_tool sound", 100, 200, {**ran(1, "6 m"), "mastra.span.type": "tool_call"}, top, **where)
    c.span("execute_tool sound", 210, 300, {**ran(2, None), "mastra.span.type": "tool_call", "error.message": "no line"}, at, status=(2, "no line"), **where)

    where = dict(trace=2, scope="@latitude-data/claude-code-telemetry")
    turn = lambda kind, prompt, **more: {"span.type": "interaction", "interaction.kind": kind, "session.id": "s1", "user_prompt": prompt, **given(part("user", words(prompt))), **more}
    request = lambda model, came, went: {"span.type": "llm_request", "session.id": "s1", "model": model, "input_tokens": came, "output_tokens": went, "cache_read_tokens": 100, "success": "true"}
    top = c.span("interaction", 0, 900, turn("user", "How deep?", **{"turn.number": 2}), **where)
    before = [part("user", words("Hello")), part("assistant", words("Hi."))]
    at = c.span("llm_request", 0, 900, {**request("claude-opus", 9, 6), **given(*before, ask), **said(part("assistant", words("I sound.\\n\\nSix.")))}, top, **where)
    older = lambda number, name, arguments, result, bad=False: {"span.type": "tool_execution", "session.id": "s1", "tool.name": name, "tool.id": f"c{number}", "tool.input": text(arguments), "tool.output": result, "tool.is_error": bad, "success": text(not bad)}
    c.span("tool:sound", 0, 900, older(1, "sound", {"pier": 1}, "no line", True), at, status=(2, ""), **where)
    task = c.span("tool:Task", 0, 900, {**older(2, "Task", {"prompt": "Look."}, "Six."), "subagent.id": "Explore:a1", "subagent.type": "Explore"}, at, **where)
    sub = c.span("interaction", 300, 500, turn("subagent", "Look.", **{"subagent.id": "Explore:a1"}), task, **where)
    c.span("llm_request", 300, 500, {**request("claude-haiku", 3, 2), "subagent.id": "Explore:a1", **given(part("user", words("Look."))), **said(part("assistant", words("Six.")))}, sub, **where)

    where = dict(trace=3, scope="@latitude-data/claude-code-telemetry")
    top = c.span("interaction", 0, 900, turn("user", "How deep?"), **where)
    c.span("llm_request", 10, 90, {**request("claude-opus", 9, 4), "llm_request.call_index": 0, **given(ask), **said(part("assistant", asks(1)))}, top, **where)
    c.span("tool:sound", 100, 200, {**ran(1, "6 m"), "span.type": "tool_execution", "session.id": "s1", "tool.is_error": False, "success": "true"}, top, **where)
    c.span("llm_request", 210, 290, {**request("claude-opus", 19, 2), "llm_request.call_index": 1, **given(ask, part("assistant", asks(1)), heard(1, "6 m")), **said(part("assistant", words("Six.")))}, top, **where)

    where = dict(trace=4, scope="app")
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, **where)
    c.span("chat gpt-4o", 10, 300, {**chat_of("gpt-4o"), **given(ask), **said(part("assistant", words("I sound."), asks(1)))}, top, **where)
    c.span("execute_tool sound", 100, 200, ran(1, "6 m"), top, **where)
    c.span("chat gpt-4o", 310, 390, {**chat_of("gpt-4o"), **given(ask, part("assistant", words("I sound."), asks(1)), heard(1, "6 m")), **said(part("assistant", words("Six.")))}, top, **where)

    where = dict(trace=5, scope="Agent365Sdk")
    around = lambda *messages: text({"version": "0.1.0", "messages": list(messages)})
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", "gen_ai.input.messages": around(ask), "gen_ai.output.messages": around(part("assistant", words("Six.")))}, **where)
    c.span("Chat gpt-4o", 10, 90, {**chat_of("gpt-4o"), "gen_ai.operation.name": "Chat", "gen_ai.input.messages": around(ask), "gen_ai.output.messages": around(part("assistant", asks(1), asks(2)))}, top, **where)
    for number, result in [(1, "6 m"), (2, text({"depth": 9}))]:
        old = {key: value for key, value in ran(number, None).items() if key != "gen_ai.tool.call.arguments"}
        c.span("execute_tool sound", number * 100, number * 100 + 90, {**old, "gen_ai.tool.arguments": text({"pier": number}), "gen_ai.event.content": result}, top, **where)

    where = dict(trace=6, scope="eve")
    put = lambda kind, content: part("user", words(content), kind=kind)
    c.span("chat gpt-4o", 10, 90, {**chat_of("gpt-4o"), "gen_ai.system_instructions": text([words("Be brief.")]),
           **given(put("context.instruction", "Today is Monday."), put("user", "How deep?"), put("context.state", "Tasks: none.")), **said(part("assistant", words("Six."))), **tokens(9, 2)}, **where)

    where = dict(trace=7, scope="agentscope")
    of = lambda name, given, returned, **more: {"agentscope.function.name": name, "agentscope.function.input": text({"args": given, "kwargs": {}}), "agentscope.function.output": text(returned), **more}
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot", **given(ask), **said(part("assistant", words("Six."), name="pilot"))}, **where)
    wire = [{"role": "user", "content": "How deep?"}]
    c.span("format openai", 5, 8, {"gen_ai.operation.name": "format", "agentscope.format.target": "openai", **of("OpenAIChatFormatter.format", ["Msg(name='user', content='How deep?', role='user')"], wire)}, top, **where)
    c.span("chat gpt-4o", 10, 90, {**chat_of("gpt-4o"), **of("OpenAIChatModel.__call__", [wire], "ChatResponse(content=[{'type': 'text', 'text': 'Six.'}])"), **said(part("assistant", words("Six."))), **tokens(9, 2)}, top, **where)
    c.span("invoke_generic_function plan", 95, 99, {"gen_ai.operation.name": "invoke_generic_function", **of("plan", ["tide"], "low")}, top, **where)
    c.span("apply_guardrail armor", 100, 110, {"gen_ai.operation.name": "apply_guardrail", "gen_ai.security.target.type": "llm_output", "gen_ai.security.decision.type": "deny", "gen_ai.security.decision.reason": "It names a place.",
           "gen_ai.security.content.input.value": "Six."}, top, **where)

    where = dict(trace=8, scope="livekit-agents")
    of = lambda content: part("user", words(content))
    answer = lambda content: part("assistant", words(content))
    top = c.span("agent_session", 0, 9000, {"gen_ai.operation.name": "invoke_workflow", "gen_ai.conversation.id": "RM_1"}, **where)
    base = None
    # A guide that is put at the end of each turn's input.
    guide = part("system", words("Speak slowly."))
    for number, (new, out, dropped) in enumerate([([of("Hello"), guide], answer("Hi."), 0), ([answer("Hi."), ask, guide], part("assistant", asks(1)), 1), ([part("assistant", asks(1)), heard(1, "6 m")], answer("Six."), 0)]):
        at = 1000 * number
        if number < 2:
            turn = c.span("agent_turn", at, at + (900 if number == 0 else 1900), {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, top, **where)
        node = c.span("llm_node", at + 5, at + 500, {"lk.response.ttft": 0.25}, turn, **where)
        delta = {"lk.input.delta": True, "lk.input.base_span_id": base, "lk.input.dropped_from_base": dropped} if base else {"gen_ai.system_instructions": text([words("Be brief.")])}
        base = c.span("llm_request", at + 10, at + 490, {**chat_of("gpt-4o"), **given(*new), **said(out), **tokens(10 + number, 2), **delta}, node, **where)
    c.span("function_tool", 1510, 1800, {**ran(1, "6 m"), "lk.function_tool.is_error": False}, turn, **where)

    where = dict(trace=9, scope="extensions.otel.runtime")
    top = c.span("core.app.apps.advanced_chat.app_runner.WorkflowAppRunner.run", 0, 900, {"dify.app_id": "a1", "dify.workflow_id": "w1", "dify.streaming": True, "gen_ai.user.id": "u1", "gen_ai.framework": "dify"}, **where)
    node = lambda name, kind, of, came, went, **more: {"node.id": name, "node.type": of, "gen_ai.framework": "dify", "gen_ai.span.kind": kind, "input.value": text(came), "output.value": text(went), **more}
    begun = {"sys.query": "How deep?", "sys.user_id": "u1"}
    c.span("Start", 1, 9, node("start", "TASK", "start", begun, begun), top, **where)
    found = {"document": {"content": "Six metres.", "metadata": {"title": "pier"}, "score": 0.5, "id": "d1"}}
    c.span("Knowledge", 10, 90, node("search", "RETRIEVER", "knowledge-retrieval", {"query": "How deep?"}, {"result": [{"content": "Six metres."}]}, **{"retrieval.query": "How deep?", "retrieval.document": text([found])}), top, **where)
    called = {"gen_ai.request.model": "gpt-4o", **given(part("system", words("Be brief.")), ask), **said(part("assistant", words("Six."), finish_reason="stop")), **tokens(9, 2)}
    c.span("LLM", 100, 190, node("llm", "LLM", "llm", {"#context#": "Six metres."}, {"text": "Six.", "finish_reason": "stop"}, **called), top, **where)
    c.span("Answer", 200, 210, node("answer", "TASK", "answer", {}, {"answer": "Six.", "files": []}), top, **where)

    where = dict(trace=10, scope="app")
    top = c.span("invoke_agent pilot", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "pilot"}, **where)
    at = c.span("chat gemini", 10, 202, {**chat_of("gemini"), "gen_ai.response.finish_reasons": text(["stop"]), **given(ask), **said(part("assistant", words("I leave it to the tool."), asks(1)))}, top, **where)
    c.span("execute_tool sound", 100, 200, ran(1, "6 m"), at, **where)


def kinds_without_a_key():
    c = Case(199, "made-kinds-without-a-key", "Spans whose kind no key of a kind tells", """
Messages without an operation, old counts with flattened prompts, only a tool's name and arguments, names that tell what runs, Vercel's
function only in the span's operation, and its ranking; a trace's input in Langfuse without a type; counts only in the answer; a message as
written by LangSmith's exporter; a model and a tool of Monocle; a thread's question in Azure.""")
    root = c.span("invoke_agent", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "keeper"}, scope="app")
    c.span("chat", 10, 100, {"gen_ai.output.messages": text([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "ring", "arguments": {"bell": "north"}}]}])}, root, scope="app")
    c.span("local.tool.ring", 110, 200, {"tool.name": "ring", "tool.parameters": text({"bell": "north"})}, root, scope="app")
    c.span("llm.call", 300, 400, {"gen_ai.system": "openai", "llm.request.model": "m", "llm.usage.prompt_tokens": 12, "llm.usage.completion_tokens": 3, "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Is it dry?", "gen_ai.completion.0.content": "It is."}, root, scope="app")
    c.span("answer", 500, 600, {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "And now?", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Still."}, root, scope="app")
    root = c.span("agent.run", 1000, 1900, {"agent.name": "porter"}, scope="own", trace=2)
    c.span("model.call", 1010, 1100, {"model.id": "m", "model.stop_reason": "tool_use"}, root, scope="own", trace=2)
    c.span("tool.call", 1110, 1200, {"tool.name": "lift", "tool.use_id": "u1"}, root, scope="own", trace=2)
    c.span("model.call", 1210, 1300, {"model.id": "m", "model.stop_reason": "end_turn"}, root, scope="own", trace=2)
    root = c.span("ai.generateText", 2000, 2900, {"operation.name": "ai.generateText help", "ai.prompt": text({"prompt": "Which door?"}), "ai.response.text": "The left one."}, scope="ai", trace=3)
    c.span("ai.generateText.doGenerate", 2010, 2100, {"operation.name": "ai.generateText.doGenerate help", "ai.model.id": "m", "ai.prompt.messages": text([chat("user", "Which door?")]), "ai.response.text": "The left one.", "ai.usage.promptTokens": 3, "ai.usage.completionTokens": 4}, root, scope="ai", trace=3)
    rank = c.span("ai.rerank", 2200, 2300, {"ai.operationId": "ai.rerank", "ai.documents": ['"left"', '"right"'], "ai.model.id": "r"}, scope="ai", trace=9)
    c.span("ai.rerank.doRerank", 2210, 2290, {"ai.operationId": "ai.rerank.doRerank", "ai.documents": ['"left"', '"right"'], "ai.model.id": "r", "ai.ranking": ['{"index":1,"relevanceScore":0.9}', '{"index":0,"relevanceScore":0.2}'], "ai.ranking.type": "text"}, rank, scope="ai", trace=9)
    c.span("handler", 3000, 3900, {"langfuse.trace.input": text({"query": "Open?"}), "langfuse.trace.output": text({"response": "Until six."}), "langfuse.session.id": "S-2"}, scope="langfuse-sdk", trace=4)
    c.span("responses", 4000, 4100, {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.total": 101, "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Sum?", "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Nine.", "output.mime_type": "application/json", "output.value": text({"id": "r1", "output_text": "Nine.", "usage": {"prompt_tokens": 86, "completion_tokens": 15, "total_tokens": 101}})}, scope="@arizeai/openinference-instrumentation-openai", trace=5)
    root = c.span("claude.conversation", 5000, 5900, {"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain", "gen_ai.prompt": text({"prompt": "Is the pool warm?", "system": "You know the pool."})}, scope="langsmith", trace=6)
    turn = {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    c.span("claude.assistant.turn", 5010, 5100, dict(turn, **{"gen_ai.prompt": text(chat("user", "Is the pool warm?")), "gen_ai.completion": text({"role": "assistant", "content": [{"type": "tool_use", "id": "p1", "name": "probe", "input": {"depth": 1}}]})}), root, scope="langsmith", trace=6)
    c.span("probe", 5110, 5200, {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.prompt": text({"input": {"depth": 1}}), "gen_ai.completion": text({"content": [{"type": "text", "text": "24 degrees"}]})}, root, scope="langsmith", trace=6)
    c.span("claude.assistant.turn", 5210, 5300, dict(turn, **{"gen_ai.prompt": text({"content": "role"}), "gen_ai.completion": text({"role": "assistant", "content": [{"type": "text", "text": "Warm enough."}]})}), root, scope="langsmith", trace=6)
    known = {"monocle_apptrace.version": "0.4.0", "workflow.name": "inn"}
    root = c.span("agent", 6000, 6900, dict(known, **{"span.type": "agentic.invocation", "entity.1.name": "Clerk", "entity.1.type": "agent.crewai"}), scope="monocle_apptrace", trace=7)
    c.span("model", 6010, 6100, dict(known, **{"span.type": "inference", "entity.1.type": "inference.azure_ai_inference", "entity.2.type": "model.llm.unknown"}), root, scope="monocle_apptrace", trace=7,
        events=[(6010, "data.input", {"input": ['{"user": "Book a room."}']}), (6100, "data.output", {"response": '{"assistant": "I book it."}'}), (6100, "metadata", {"completion_tokens": 4, "prompt_tokens": 9, "model": "m-2"})])
    c.span("tool", 6110, 6200, dict(known, **{"span.type": "agentic.tool.invocation", "entity.1.name": "book", "entity.1.type": "tool.crewai"}), root, scope="monocle_apptrace", trace=7,
        events=[(6110, "data.input", {"input": ["input: {'room': 4, 'view': None}"]}), (6200, "data.output", {"response": "booked"})])
    said = lambda **content: {"gen_ai.event.content": text(content)}
    c.span("process_thread_run a", 7000, 7900, {"gen_ai.operation.name": "process_thread_run", "gen_ai.system": "az.ai.agents", "gen_ai.agent.id": "a", "gen_ai.thread.id": "T-1", "gen_ai.request.model": "m"}, scope="azure.ai.agents", trace=8,
        events=[(7010, "gen_ai.system.message", said(content="Be brief.")), (7020, "gen_ai.user.message", said(content="Is it far?", role="user")), (7800, "gen_ai.assistant.message", said(content={"text": {"value": "Not far."}}, role="assistant"))])


def endings():
    c = Case(200, "made-endings-of-runs", "How runs end, and who answers", """
A program's answer is that of its outermost span: the text of a chain, the last message of a graph's state, an agent's additions to its
model's text. The model's text stays in the conversation. The last failure below silent wrappers fails the run; a cancelled tool cancels it;
after a failed tool, an answer still counts. An agent inside a transfer's span answers for the run. A judge inside an agent does not answer.
A framework's prompt between two model calls is not a question. A client that reads its list of messages too late has the answer once. A
function with texts is not a model call.""")
    ask = chat("user", "Where is parcel 88?")
    chain = lambda **more: {"openinference.span.kind": "CHAIN", **more}
    state = lambda *messages, **more: text({"messages": [{"role": r, "content": t} for r, t in messages], **more})

    where = {"trace": 1}
    root = c.span("handle", 0, 900, chain(**{"input.value": ask["content"], "output.value": "It is in Graz."}), **where)
    inner = c.span("flow", 10, 800, chain(), root, **where)
    c.span("route", 50, 300, llm([chat("system", "Name the intent."), ask], chat("assistant", "TRACKING"), (31, 2)), inner, **where)

    where = {"trace": 2}
    root = c.span("LangGraph", 0, 900, chain(**{"input.value": state(("user", "hi, where is parcel 88 pls")), "input.mime_type": "application/json",
        "output.value": state(("user", "hi, where is parcel 88 pls"), ("assistant", "In Graz. (source: the depot)"), kind="tracking"), "output.mime_type": "application/json"}), **where)
    c.span("ChatOpenAI", 50, 300, llm([ask], chat("assistant", "In Graz."), (31, 2)), root, **where)
    c.span("ChatOpenAI", 400, 600, llm([chat("system", "Name the intent."), ask], chat("assistant", "TRACKING"), (31, 2)), root, **where)

    where = {"trace": 3}
    root = c.span("invoke", 0, 900, {"langfuse.observation.type": "span", "langfuse.observation.input": ask["content"], "langfuse.observation.output": text({"answer": "In Graz. No warranty.", "sources": ["depot"]})}, scope="langfuse-sdk", **where)
    c.span("model", 50, 300, {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m", "langfuse.observation.input": text([{"role": "user", "content": ask["content"]}]), "langfuse.observation.output": text({"role": "assistant", "content": "In Graz."})}, root, scope="langfuse-sdk", **where)

    where = {"trace": 4}
    asked = chat("assistant", calls=[("call_1", "look_up", {"parcel": 88})])
    top = c.span("Agent workflow", 0, 900, {"openinference.span.kind": "AGENT"}, None, (OK, ""), **where)
    flow = c.span("Agent workflow", 1, 899, chain(), top, (OK, ""), **where)
    desk = c.span("desk", 2, 898, agent("desk"), flow, (OK, ""), **where)
    c.span("response", 50, 300, llm([ask], asked, (31, 8)), desk, (OK, ""), **where)
    c.span("look_up", 310, 500, tool("look_up", "call_1", {"parcel": 88}), desk, (ERROR, "the depot is closed"), **where)

    where = {"trace": 5}
    desk = c.span("invoke_agent desk", 0, 600, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}, scope="pydantic-ai", **where)
    c.span("chat m", 50, 300, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m", "gen_ai.input.messages": text([{"role": "user", "parts": [{"type": "text", "content": ask["content"]}]}]),
        "gen_ai.output.messages": text([{"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"parcel": 88}}]}])}, desk, scope="pydantic-ai", **where)
    c.span("execute_tool look_up", 310, 610, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.arguments": text({"parcel": 88})}, desk, (ERROR, ""),
        [exception(609, "asyncio.exceptions.CancelledError", "Cancelled via cancel scope")], scope="pydantic-ai", **where)

    where = {"trace": 6}
    desk = c.span("invoke_agent desk", 0, 600, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "pydantic_ai.all_messages": "[]"}, scope="pydantic-ai", **where)
    c.span("chat m", 50, 590, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "model_request_parameters": text({"function_tools": []})}, desk, scope="pydantic-ai", **where)

    where = {"trace": 7}
    triage = c.span("triage", 0, 900, agent("triage"), **where)
    handed = chat("assistant", calls=[("call_1", "transfer_to_depot", {})])
    c.span("response", 50, 300, llm([ask], handed, (31, 8)), triage, **where)
    hand = c.span("transfer_to_depot", 310, 800, tool("transfer_to_depot", "call_1", {}, text({"assistant": "depot"})), triage, **where)
    depot = c.span("depot", 320, 790, agent("depot"), hand, **where)
    c.span("response", 350, 700, llm([ask, handed, chat("tool", text({"assistant": "depot"}), call_id="call_1")], chat("assistant", "In Graz."), (40, 3)), depot, **where)
    check = c.span("evaluation Relevance", 810, 890, {"gen_ai.operation.name": "evaluation", "gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": 5.0}, triage, scope="judge", **where)
    c.span("judge", 820, 880, llm([chat("system", "Rate from 1 to 5."), chat("user", "Parcel 88? In Graz.")], chat("assistant", "5"), (20, 1)), check, **where)

    where = {"trace": 8}
    said = lambda role, words: {"role": role, "parts": [{"type": "text", "content": words}]}
    whole = [said("user", ask["content"]), said("assistant", "Graz"), said("user", "Validation failed: write a sentence."), said("assistant", "It is in Graz.")]
    desk = c.span("invoke_agent desk", 0, 900, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "pydantic_ai.all_messages": text(whole), "final_result": "It is in Graz."}, scope="pydantic-ai", **where)
    for n in (1, 3):
        c.span("chat m", 100 * n, 100 * n + 90, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m", "gen_ai.input.messages": text(whole[:n]), "gen_ai.output.messages": text(whole[n:n + 1])}, desk, scope="pydantic-ai", **where)

    where = {"trace": 9}
    c.span("chat", 0, 900, llm([ask, chat("assistant", "In Graz.")], chat("assistant", "In Graz."), (31, 3)), **where)

    where = {"trace": 10}
    kiosk = {"ai.observability.app_name": "Kiosk", "ai.observability.record_id": "r"}
    root = c.span("app.Kiosk.respond", 0, 900, dict(kiosk, **{"ai.observability.span_type": "record_root", "ai.observability.record_root.input": "opening hours", "ai.observability.record_root.output": "hours: 9 to 17"}), scope="trulens.otel", **where)
    c.span("app.Kiosk.look_up", 10, 100, dict(kiosk, **{"ai.observability.span_type": "unknown", "ai.observability.call.return": "9 to 17"}), root, scope="trulens.otel", **where)

    where = {"trace": 11}
    mcp = {"mcp.method.name": "tools/call", "mcp.tool.name": "divide", "mcp.request.argument.a": "5", "mcp.request.argument.unit": text("km"), "mcp.tool.result.content": text([{"type": "text", "text": "division by zero"}]), "mcp.tool.result.is_error": True}
    c.span("tools/call divide", 0, 900, mcp, scope="sentry.javascript.node", **where)

    where = {"trace": 12}
    planner = c.span("invoke_agent planner", 0, 4000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}, scope="own", **where)
    call = chat("assistant", calls=[("d0", "research", {"topic": "Graz"})])
    c.span("chat", 10, 110, llm([ask], call, (20, 5)), planner, **where)
    c.span("execute_tool research", 210, 1010, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "research", "gen_ai.tool.call.id": "d0", "gen_ai.tool.call.arguments": text({"topic": "Graz"}), "gen_ai.tool.call.result": "Graz has a depot."}, planner, scope="own", **where)
    other = c.span("invoke_agent researcher", 260, 860, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "researcher"}, planner, scope="own", **where)
    c.span("chat", 310, 410, llm([chat("user", "Look up Graz.")], chat("assistant", "Graz has a depot."), (8, 6)), other, **where)
    c.span("chat", 1210, 1310, llm([ask, call, chat("tool", "Graz has a depot.", call_id="d0")], chat("assistant", "In the depot of Graz."), (60, 4)), planner, **where)


for make in (endings, told_in_other_places, pieces_of_calls, words_that_are_none, times_in_other_units, calls_about_talks, calls_that_are_one_or_two, calls_and_results, clocks, told_in_odd_places, calls_of_programs, results_without_ids, results_without_calls, keys_of_more_clients, asked_around, nobodys_words, keys_of_old_clients, plugins_and_ties, keys_of_gateways_and_nested_calls, keys_of_newer_clients, turns_in_one_span, kinds_without_a_key):
    make()


def given_otherwise():
    c = Case(210, "made-given-otherwise", "What the model was given is not what the tool gave", """
Only the agent's span records the tools. `read` returned forty lines, but the model received four; `ask` failed, and the model received text
other than the error; `snap` returned an image with text; `probe` returned MCP's structured content and a summary, and the model received
the summary; `list` returned MCP blocks with LangChain's ids, which no model reads. A row has what the model received, and reports the rest;
trajectories have the tools' own results.""")
    ask = chat("user", "Look at everything.")
    names = ["read", "ask", "snap", "probe", "list"]
    offered = [{"type": "function", "name": name, "description": f"The tool {name}.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}} for name in names]
    root = c.span("invoke_agent looker", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "looker", "gen_ai.tool.definitions": text(offered)})
    said = chat("assistant", calls=[(f"c{i}", name, {"at": "pier"}) for i, name in enumerate(names)])
    c.span("chat gpt-4o", 100, 900, genai([ask], said, (20, 30), finish="tool_calls"), root)
    blocks = [{"type": "text", "text": "A red boat."}, {"type": "image", "data": "iVBORw0KGgoAAA", "mimeType": "image/png"}]
    results = [" ".join(f"line {n}" for n in range(1, 41)), None, blocks,
               {"content": [{"type": "text", "text": "It is cold."}], "structuredContent": {"celsius": -3}, "isError": False},
               [{"type": "text", "text": "north", "id": "lc_1"}, {"type": "text", "text": "south", "id": "lc_2"}]]
    for i, (name, result) in enumerate(zip(names, results)):
        given = {} if result is None else {"gen_ai.tool.call.result": result if isinstance(result, str) else text(result)}
        c.span(f"execute_tool {name}", 1000 + 100 * i, 1050 + 100 * i, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"c{i}",
               "gen_ai.tool.call.arguments": text({"at": "pier"}), **given}, root, (ERROR, "no such pier: pier") if result is None else None)
    read = ["line 1 line 2\n[36 lines left out, see out/c0.txt]\nline 39 line 40", "Error: Function failed.", blocks, "It is cold.", "north\nsouth"]
    history = [ask, said] + [chat("tool", words, call_id=f"c{i}") for i, words in enumerate(read)]
    c.span("chat gpt-4o", 2000, 2900, genai(history, chat("assistant", "Seen."), (90, 2)), root)


def parallel_without_ids():
    c = Case(211, "made-parallel-without-ids", "Parallel runs of one tool whose spans have no ids", """
First trace: three runs without ids and arguments, started in an order other than requested: the next input names the results by call id,
one of them as differently formatted JSON. Second trace: the context of each run was left open, so each span is below the previous one:
arguments and results differ, so they are three runs. Third trace: the same tool inside itself with the same arguments is one run, recorded
twice.""")
    places = ["Oslo", "Rome", "Bonn"]
    ask = chat("user", "How warm?")
    for trace in (1, 2):
        root = c.span("helper", 0, 9000, agent("helper", ask["content"], "Warm."), trace=trace)
        said = chat("assistant", calls=[(f"call_a{i}", "weather", {"city": city}) for i, city in enumerate(places)])
        c.span("ChatOpenAI", 100, 900, llm([ask], said, (10, 20)), root, trace=trace)
        parent = root
        for at, i in enumerate([2, 0, 1] if trace == 1 else [0, 1, 2]):
            span = c.span("weather", 1000 + at, 1100 + 10 * at, tool("weather", None, {"city": places[i]} if trace == 2 else None, {"city": places[i], "degrees": i}), parent, trace=trace)
            parent = span if trace == 2 else root
        results = [text({"city": "Oslo", "degrees": 0}), json.dumps({"city": "Rome", "degrees": 1}), text({"city": "Bonn", "degrees": 2})]
        history = [ask, said] + [chat("tool", words, call_id=f"call_a{i}") for i, words in enumerate(results)]
        c.span("ChatOpenAI", 2000, 2900, llm(history, chat("assistant", "Warm."), (60, 2)), root, trace=trace)
    root = c.span("helper", 0, 9000, agent("helper", ask["content"], "Warm."), trace=3)
    said = chat("assistant", calls=[("call_b", "weather", {"city": "Oslo"})])
    c.span("ChatOpenAI", 100, 900, llm([ask], said, (10, 20)), root, trace=3)
    outer = c.span("weather", 1000, 1100, tool("weather", None, {"city": "Oslo"}, "0"), root, trace=3)
    c.span("weather", 1010, 1090, tool("weather", None, {"city": "Oslo", "units": "C"}, "0 C"), outer, trace=3)
    c.span("ChatOpenAI", 2000, 2900, llm([ask, said, chat("tool", "0", call_id="call_b")], chat("assistant", "Warm."), (30, 2)), root, trace=3)


def answers_that_broke_off():
    c = Case(212, "made-answers-that-broke-off", "Answers that broke off, several choices, a prompt that follows a transfer", """
First trace: two attempts break off, one in its text, one in a call, and a third succeeds: the row has the third answer, and the failed
calls keep their pieces. Second trace: there is no retry, so the piece is the agent's last message. Third trace: OpenLLMetry's indexed
completions with their own finish reasons are choices. Fourth trace: a thought and the text are parts of one answer. Fifth trace: a model
hands over with `transfer_to_bob`, and the next call has the same history under another prompt: another row, although no name distinguishes
the agents.""")
    ask = chat("user", "How fast is light?")
    for trace in (1, 2):
        root = c.span("invoke_agent physics", 0, 9000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "physics"}, trace=trace, scope="genai")
        pieces = [chat("assistant", "It is 299,79"), chat("assistant", calls=[("call_1", "look", {})])]
        for at, piece in enumerate(pieces if trace == 1 else pieces[:1]):
            c.span("chat gpt-4o", 100 + 300 * at, 300 + 300 * at, {**genai([ask], piece, (10, 4)), "error.type": "APIConnectionError"}, root, (ERROR, "peer closed connection"), trace=trace, scope="genai")
        if trace == 1:
            c.span("chat gpt-4o", 1000, 1900, genai([ask], chat("assistant", "299,792,458 m/s."), (10, 6)), root, trace=trace, scope="genai")
    old = {"gen_ai.system": "openai", "llm.request.type": "chat", "gen_ai.request.model": "m-1", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": ask["content"]}
    choice = lambda at, words, reason="stop", role="assistant": {f"gen_ai.completion.{at}.role": role, f"gen_ai.completion.{at}.content": words, **({f"gen_ai.completion.{at}.finish_reason": reason} if reason else {})}
    c.span("openai.chat", 0, 900, {**old, **choice(0, "Very."), **choice(1, "Quite.")}, trace=3, scope="opentelemetry.instrumentation.openai.v1")
    c.span("anthropic.chat", 0, 900, {**old, **choice(0, "Light is fast.", None, "thinking"), **choice(1, "Very.")}, trace=4, scope="opentelemetry.instrumentation.anthropic")
    graph = c.span("graph", 0, 9000, {"openinference.span.kind": "CHAIN", "input.value": ask["content"], "output.value": "Very."}, trace=5)
    said = chat("assistant", "I hand this over.", calls=[("call_t", "transfer_to_bob", {})])
    c.span("ChatOpenAI", 100, 900, llm([chat("system", "You are alice."), ask], said, (10, 9)), graph, trace=5)
    c.span("transfer_to_bob", 1000, 1010, tool("transfer_to_bob", "call_t", {}, "Successfully transferred to bob"), graph, trace=5)
    c.span("ChatOpenAI", 2000, 2900, llm([chat("system", "You are bob."), ask, said, chat("tool", "Successfully transferred to bob", call_id="call_t")], chat("assistant", "Very."), (30, 2)), graph, trace=5)


def who_ended_the_run():
    c = Case(213, "made-who-ended-the-run", "Who ended a run, and what was judged", """
1. LangChain's middleware: a guard answers and jumps to the end. No model was called. The evaluator of the fourth trace links to the web
   framework's span inside: the score belongs to the run.
2. A client writes `null` as the answer of an agent whose model call failed: no answer, and the run failed.
3. An agent works inside another one, not called by a tool: the outer agent's answer is last.
4. The evaluator.""")
    ask, said = {"role": "user", "content": "How do I pick a lock?"}, {"role": "assistant", "content": "I cannot help with that."}
    state = lambda *list, **more: {"openinference.span.kind": "CHAIN", "output.mime_type": "application/json", "output.value": text({"messages": list, **more})}
    graph = c.span("LangGraph", 0, 900, {**state(ask, said), "input.mime_type": "application/json", "input.value": text({"messages": [ask]})}, scope="openinference.instrumentation.langchain")
    c.span("ContentFilter.before_agent", 100, 200, state(said, jump_to="end"), graph, scope="openinference.instrumentation.langchain")
    inside = c.span("GET /policy", 110, 120, {"http.request.method": "GET"}, graph, scope="http")
    agent = lambda name: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    top = c.span("clerk", 0, 900, {"mlflow.spanType": text("AGENT"), "mlflow.spanInputs": text({"question": "How deep?"}), "mlflow.spanOutputs": "null"}, trace=2, scope="mlflow")
    c.span("chat gpt-4o", 100, 200, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "error.type": "RateLimitError"}, top, (ERROR, "quota"), trace=2, scope="app")
    boss = c.span("invoke_agent boss", 0, 9000, agent("boss"), trace=3, scope="app")
    asked, wait = chat("user", "Ask the diver."), chat("assistant", "Wait.")
    c.span("chat gpt-4o", 100, 200, genai([asked], wait, (5, 1)), boss, trace=3, scope="app")
    diver = c.span("invoke_agent diver", 300, 900, agent("diver"), boss, trace=3, scope="app")
    c.span("chat gpt-4o", 400, 800, genai([chat("user", "How deep?")], chat("assistant", "Nine."), (4, 1)), diver, trace=3, scope="app")
    c.span("chat gpt-4o", 1000, 1900, genai([asked, wait, chat("user", "The diver says: Nine.")], chat("assistant", "It is nine metres deep."), (9, 5)), boss, trace=3, scope="app")
    c.span("judge", 2000, 2010, {"openinference.span.kind": "EVALUATOR", "gen_ai.evaluation.name": "safe", "gen_ai.evaluation.score.value": 1.0}, trace=4, scope="app", links=[inside])


for make in (given_otherwise, parallel_without_ids, answers_that_broke_off, who_ended_the_run):
    make()


def main(check):
    stale = []
    for case in CASES:
        folder = os.path.join(HERE, case.name)
        files = {name: json.dumps(body, ensure_ascii=False, indent=1) + "\n" for name, body in case.files()}
        files["README.md"] = f"# {case.title}\n{case.about}\n"
        for name, body in files.items():
            path = os.path.join(folder, name)
            have = open(path, encoding="utf-8").read() if os.path.exists(path) else None
            if have != body:
                stale.append(path)
                if not check:
                    os.makedirs(folder, exist_ok=True)
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(body)
        for name in ("002.logs.json", "options.json", "refused.json"):
            path = os.path.join(folder, name)
            if name not in files and os.path.exists(path):
                stale.append(path)
                if not check:
                    os.remove(path)
    known = {c.name for c in CASES}
    stale += [os.path.join(HERE, d) for d in sorted(os.listdir(HERE)) if d.startswith("made-") and d not in known]
    print(f"{len(CASES)} cases; " + (f"{len(stale)} files {'are stale' if check else 'written'}" if stale else "all files as made"))
    if check:
        print("".join(f"stale: {os.path.relpath(p)}\n" for p in stale), end="")
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
