#!/usr/bin/env python3
"""Random documents, made by the formats' own packages, against the program.

* Each valid document is imported and exported again: it must come back field for field, numbers with their type.
* Each document, and changed copies of it in which rules may be broken, are given to `spanbridge check` and to the package:
  both must say the same.

OpenReward has no package; its blocks are made by the rules of its page, and check_openreward.py checks these rules.

usage: random_documents.py --bin target/debug/spanbridge [--formats F,...] [--count 40] [--changes 5] [--seed 1] [--keep DIR]
run with the Python that has requirements.txt"""
import argparse, asyncio, collections, dataclasses, datetime, json, logging, os, random, subprocess, sys, tempfile, types, typing, uuid
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from _common import stub_synth
from runner import verdicts
logging.disable(logging.CRITICAL)

WORDS = ["weather", "Bogotá", "22 °C", "naïve", "東京", "🛫 🛬", "مرحبا", "a\tb", "line\nbreak", "{\"a\": 1}", "[1, 2]", "null", "12", "1e5", "true",
         "\u0000", "\u2028", "<b>&amp;</b>", "C:\\dir", "\"quoted\"", "x" * 300, "e\u0301", "\U0001f468\u200d\U0001f469", "~1/~0", "$.steps[0]"]
KEYS = ["a", "b", "query", "city", "ünïcode", "with space", "with.dot", "a/b~c", "0", "", "id", "role", "content", "name", "metadata", "spanbridge", "span_id", "error", "usage"]
UTC = datetime.timezone.utc


class Dice(random.Random):
    """Values as they stand in documents, odd ones too."""

    def one_in(self, n):
        return self.randrange(n) == 0

    def text(self, blank=True):
        if blank and self.one_in(12):
            return self.choice(["", " ", "  ", "\n"])
        return " ".join(self.choice(WORDS) for _ in range(self.randint(1, 4)))

    def word(self):
        return self.choice(["alpha", "beta", "gamma-2", "délta", "get_weather", "search"]) + str(self.randrange(100))

    def integer(self):
        return self.choice([0, 1, 7, 42, 4096, 2**31, 2**53 + 1, 2**63 - 1])

    def number(self):
        return self.choice([0.0, 1.0, 0.1, -2.5, 1e-7, 1.7e308, 5e-324, 3, 123456789.123456789])

    def any(self, depth=3):
        kind = self.randrange(10 if depth else 7)
        if kind == 0:
            return None
        if kind == 1:
            return self.one_in(2)
        if kind == 2:
            return self.choice([self.integer(), -self.integer(), 2**64 - 1, 2**64 + self.randrange(9), 2**70 + self.randrange(9), -2**80])
        if kind == 3:
            return self.number()
        if kind < 7:
            return self.text()
        if kind < 9:
            return self.object(depth - 1)
        return [self.any(depth - 1) for _ in range(self.randrange(4))]

    def object(self, depth=2):
        return {self.choice(KEYS): self.any(depth) for _ in range(self.randrange(4))}

    def times(self, count):
        """Instants, none before the last."""
        at = datetime.datetime(2026, 3, self.randint(1, 28), 9, tzinfo=UTC)
        out = []
        for _ in range(count):
            at += datetime.timedelta(microseconds=self.choice([0, 1, 1000, 250_000, 1_234_567, 61_000_000]))
            out.append(at)
        return out

    def of(self, hint, make):
        """A value of this type hint; `make` makes the classes."""
        if hint is typing.Any:
            return self.any()
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.of(args[0], make)
        if origin in (typing.Union, types.UnionType):
            if type(None) in args and self.one_in(2):
                return None
            return self.of(self.choice([a for a in args if a is not type(None)]), make)
        if origin is typing.Literal:
            return self.choice(args)
        if origin is list:
            return [self.of(args[0], make) for _ in range(self.randrange(4))]
        if origin is dict or hint is dict:
            return self.object()
        simple = {str: self.text, int: self.integer, float: self.number, bool: lambda: self.one_in(2)}
        return simple[hint]() if hint in simple else make(hint)


# ------------------------------------------------------------------ ContextForge

def contextforge(dice):
    from context_forge.core import trace as T, types as Y
    when = iter(())

    def make(cls, **given):
        values = {}
        for name, field in cls.model_fields.items():
            if name in given:
                values[name] = given[name]
            elif name == "step_type":
                continue
            elif field.is_required() or not dice.one_in(3):
                values[name] = dice.of(field.annotation, make)
        return cls(**values)

    classes = [T.LLMCallStep, T.ToolCallStep, T.RetrievalStep, T.MemoryReadStep, T.MemoryWriteStep, T.InterruptStep, T.StateChangeStep,
               T.UserInputStep, T.FinalOutputStep]
    count = dice.randrange(9)
    times = dice.times(count + 2)
    steps = []
    for index in range(count):
        cls = dice.choice(classes)
        given = {"step_id": f"{index}-{dice.text(blank=False)}" if dice.one_in(4) else str(uuid.UUID(int=dice.getrandbits(128), version=4)),
                 "timestamp": times[index + 1],
                 "parent_step_id": dice.choice(steps).step_id if steps and dice.one_in(2) else None}
        if cls is T.LLMCallStep and dice.one_in(2):
            given |= {"input": chat(dice), "output": dice.choice([dice.text(), {"role": "assistant", "content": dice.text(), "tool_calls": chat_calls(dice)}])}
        if cls is T.ToolCallStep and dice.one_in(3):
            given |= {"success": False, "error": dice.text()}
        elif cls is T.ToolCallStep:
            given |= {"error": None}
        if cls in (T.RetrievalStep, T.MemoryReadStep):
            results = [Y.RetrievalResult(content=dice.text(), score=dice.choice([None, 0.0, 0.5, 1.0]), metadata=dice.choice([None, dice.object()]))
                       if cls is T.RetrievalStep else dice.any() for _ in range(dice.randrange(4))]
            given |= {"results": results, "match_count": len(results) + dice.choice([0, 0, 3])}
        if "latency_ms" in cls.model_fields and dice.one_in(2):
            given["latency_ms"] = dice.randrange(5000)
        if cls is T.InterruptStep and dice.one_in(2):
            given["wait_duration_ms"] = dice.randrange(90_000)
        steps.append(make(cls, **given))
    run = make(T.TraceRun, run_id=str(uuid.UUID(int=dice.getrandbits(128), version=4)), started_at=times[0], steps=steps,
               ended_at=dice.choice([None, times[-1]]))
    return run.to_json(indent=2)


def chat_calls(dice):
    return [{"id": f"call_{dice.randrange(10**6)}", "type": "function",
             "function": {"name": dice.word(), "arguments": json.dumps(dice.object())}} for _ in range(dice.randrange(3))]


def chat(dice):
    out = []
    for role in ["system", "user", "assistant", "tool", "developer", "user"]:
        if dice.one_in(2):
            out.append({"role": role, "content": dice.choice([dice.text(), None, [{"type": "text", "text": dice.text()}]])})
            if role == "tool":
                out[-1]["tool_call_id"] = f"call_{dice.randrange(10)}"
            if role == "assistant" and dice.one_in(2):
                out[-1]["tool_calls"] = chat_calls(dice)
    return out


# ------------------------------------------------------------------ Reflex

def reflex(dice):
    from aevyra_witness import AgentTrace, TraceNode
    from aevyra_witness.trace import VALID_KINDS
    if dice.one_in(5):
        trace = reflex_runtime(dice)
    else:
        nodes = []
        times = [at.timestamp() for at in dice.times(12)]
        optimized = dice.word()
        for index in range(dice.randrange(8)):
            node_id = dice.choice([f"n{index}", f"{index} {dice.text(blank=False)}", "%016x" % (dice.getrandbits(63) + 1)])
            parent = dice.choice(nodes).id if nodes and dice.one_in(2) else None
            timed = not dice.one_in(4)
            between = {"started_at": times[index] if timed else None, "ended_at": times[index + dice.randrange(4)] if timed and not dice.one_in(4) else None}
            if dice.one_in(4):
                nodes.append(TraceNode.mcp_tool(dice.word(), arguments=dice.object(), result=dice.any(), id=node_id, parent_id=parent,
                                                server=dice.choice([None, "github"]), tool_call_id=dice.choice([None, "call_1"]),
                                                error=dice.choice([None, dice.text(blank=False)]), error_code=dice.choice([None, "E1"]), **between,
                                                latency_ms=dice.choice([None, 12, 0.5]), extra_metadata=dice.choice([None, {"k": dice.any()}])))
                continue
            prompt = dice.choice([None, None, "planner", optimized])
            nodes.append(TraceNode(name=dice.text(), input=dice.choice([dice.any(), chat(dice)]), output=dice.any(), id=node_id, parent_id=parent,
                                   kind=dice.choice(sorted(VALID_KINDS)), prompt_id=prompt, step=dice.choice([None, 0, dice.integer(), -1]),
                                   optimize=prompt == optimized, tokens=dice.choice([0, 17, dice.integer()]),
                                   error=dice.choice([None, None, dice.text(blank=False)]), metadata={"k": dice.any(), "more": dice.object()} if dice.one_in(2) else {}, **between))
        # Without ids the package gives some.
        if dice.one_in(5) and all(node.parent_id is None for node in nodes):
            for node in nodes:
                node.id = ""
        trace = AgentTrace(nodes=nodes, ideal=dice.choice([None, dice.text()]), metadata=dice.object())
    document = json.loads(trace.to_json())
    document.pop("tokens")      # the published schema forbids it
    return json.dumps(document, ensure_ascii=dice.one_in(2), indent=dice.choice([None, 2]))


def reflex_runtime(dice):
    from aevyra_witness.runtime import span, trace
    with trace() as tracer:
        for _ in range(dice.randint(1, 3)):
            with span(dice.word(), kind="reason") as s:
                s.input, s.output = dice.any(), dice.any()
    done = tracer.finish()
    done.nodes.sort(key=lambda node: node.started_at or 0)
    return done


# ------------------------------------------------------------------ OpenReward

def openreward(dice):
    trace = dice.choice(["tr_%032x" % (dice.getrandbits(120) + 1), "tr_1", "tr_x-" + dice.word()])
    times = iter(dice.times(60))
    blocks, messages, calls = [], [], []
    stamped, with_ids_only = dice.one_in(2), True

    def add(sub_type, block_type, payload, parent=None):
        block = {"id": f"tb_{len(blocks):04d}{dice.choice(['', '-ü'])}", "trace_id": trace, "block_type": block_type, "sub_type": sub_type, "payload": payload}
        if parent or dice.one_in(5):
            block["parent_block_id"] = parent
        for key in ("metadata", "extra", "raw"):
            if dice.one_in(4):
                block[key] = dice.any() if key == "raw" else dice.choice([None, dice.object()])
        if sub_type == "TOOL_RESULT" and dice.one_in(3):
            block["extra"] = {"reward": dice.choice([1, 0.5, -1.0])}
        if stamped:
            at = next(times).isoformat().replace("+00:00", "Z")
            block |= {"created_at": at, "updated_at": at}
        blocks.append(block)
        return block["id"]

    for _ in range(dice.randint(1, 12)):
        kind = dice.randrange(5)
        if kind < 2 or not messages:
            content = dice.choice([dice.text(blank=False), [{"type": "text", "text": dice.text()}], {"k": dice.any()}, 7])
            messages.append(add("MESSAGE", "MESSAGE", {"role": dice.choice(["system", "user", "assistant", "user", "assistant"]), "content": content}))
        elif kind == 2:
            add("THINK", "ACT", {"text": dice.text(blank=False)}, dice.choice(messages))
        elif kind == 3:
            call_id = f"call_{len(calls)}{dice.choice(['', ' ü'])}"
            payload = {"call_id": call_id, "name": dice.text(blank=False), "arguments": dice.object()}
            calls.append((add("TOOL_CALL", "ACT", payload, dice.choice(messages)), call_id))
        elif calls:
            parent, call_id = dice.choice(calls)
            if dice.one_in(2):
                for seq in dice.sample(range(3), 3):
                    if not any(b["parent_block_id"] == parent and b["payload"].get("seq") == seq for b in blocks if b["sub_type"] == "TOOL_RESULT"):
                        add("TOOL_RESULT", "OBSERVE", {"call_id": call_id, "delta": dice.text(), "seq": seq}, parent)
            else:
                add("TOOL_RESULT", "OBSERVE", {"call_id": call_id, "output": dice.any()}, parent)
    return json.dumps(dice.choice([blocks, {"blocks": blocks}]), ensure_ascii=dice.one_in(2))


# ------------------------------------------------------------------ Synth

def synth(dice):
    stub_synth()
    from synth_ai.tracing_v3 import abstractions as A, lm_call_record_abstractions as R
    from synth_ai.tracing_v3.serialization import serialize_trace_for_http
    page = ["user_input", "agent_response", "action", "result", "observation"]
    store = ["user", "assistant", "system", "tool_use", "tool_result"]
    hints = {}
    words = dice.choice([page, store, page + store])
    start = dice.times(1)[0]

    def make(cls, **given):
        if cls is datetime.datetime:
            return start + datetime.timedelta(microseconds=dice.randrange(10**7))
        if cls not in hints:
            hints[cls] = typing.get_type_hints(cls)
        if cls is R.ToolCallSpec:
            arguments = dice.object()
            given |= {"arguments_json": json.dumps(dice.choice([arguments, arguments, dice.any()])), "arguments": dice.choice([None, arguments])}
        if cls is R.LLMMessage:
            given |= {"role": dice.choice(["user", "assistant", "system", "tool", "developer", "function"])}
        if cls is R.LLMContentPart:
            given |= {"type": dice.choice(["text", "text", "input_text", "image", "image_url", "reasoning", "refusal", "x"])}
        for field in dataclasses.fields(cls):
            if field.name in given:
                continue
            has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            if field.name == "cost_usd":        # the store counts cents
                given[field.name] = dice.choice([None, 0.0, 0.0125, 3])
            elif not has_default or not dice.one_in(2):
                given[field.name] = dice.of(hints[cls][field.name], make)
        return cls(**given)

    seconds = start.timestamp()
    trace = A.SessionTrace(session_id=dice.choice(["session-" + dice.text(blank=False), str(uuid.UUID(int=dice.getrandbits(128))), "%032x" % (dice.getrandbits(120) + 1)]),
                           created_at=start, metadata=dice.object(),
                           session_metadata=dice.choice([None, [dice.object()], [{"type": "outcome_reward", "total_reward": 1}]]))
    call_number = 0
    for index in range(dice.randrange(4)):
        began = start + datetime.timedelta(seconds=index)
        step = A.SessionTimeStep(step_id=f"turn_{index}{dice.choice(['', ' ü'])}", step_index=index, timestamp=began, turn_number=dice.choice([None, index + 1]),
                                 step_metadata=dice.object(), completed_at=dice.choice([None, began + datetime.timedelta(seconds=1)]))
        trace.session_time_steps.append(step)
        for _ in range(dice.randrange(4)):
            seconds += dice.choice([0.0, 0.000001, 0.25, 1.5])
            about = dice.object() | {"step_id": step.step_id}
            base = {"system_instance_id": dice.choice(["llm:openai", "tool:get_weather", "environment", "a/b:c", dice.text()]),
                    "time_record": A.TimeRecord(seconds, dice.choice([None, dice.integer()])), "metadata": about, "event_metadata": dice.choice([None, [dice.any()]])}
            cls = dice.choice([A.RuntimeEvent, A.EnvironmentEvent, A.LMCAISEvent, A.LMCAISEvent])
            if cls is A.LMCAISEvent:
                tokens = dice.randrange(5000)
                base |= {"input_tokens": tokens, "output_tokens": 3, "total_tokens": dice.choice([None, tokens + 3]), "call_records": [make(R.LLMCallRecord) for _ in range(dice.randrange(3))]}
            event = make(cls, **base)
            trace.event_history.append(event)
            step.events.append(event)
        for _ in range(dice.randrange(3)):
            seconds += dice.choice([0.0, 0.25])
            call_number += 1
            about = dice.object() | {"step_id": step.step_id} | dice.choice([{}, {"call_id": f"call_{dice.randrange(call_number)}"}])
            content = dice.choice([A.SessionMessageContent(text=dice.text()), A.SessionMessageContent(json_payload=json.dumps(dice.any())),
                                   A.SessionMessageContent(text=dice.text(), json_payload=json.dumps(dice.object()))])
            message = A.SessionEventMarkovBlanketMessage(content=content, message_type=dice.choice(words), time_record=A.TimeRecord(seconds), metadata=about)
            trace.markov_blanket_message_history.append(message)
            step.markov_blanket_messages.append(message)
    if dice.one_in(4):
        trace = asyncio.run(synth_tracer(dice, words))
    return serialize_trace_for_http(trace)


async def synth_tracer(dice, words):
    """The same by the package's own tracer."""
    from synth_ai.tracing_v3 import abstractions as A
    from synth_ai.tracing_v3.session_tracer import SessionTracer
    tracer = SessionTracer(auto_save=False, db_url="sqlite:///none")
    tracer.initialize = lambda: asyncio.sleep(0)
    await tracer.start_session(session_id=dice.word(), metadata=dice.object())
    for turn in range(dice.randint(1, 2)):
        await tracer.start_timestep(f"turn_{turn}", turn_number=turn + 1)
        await tracer.record_message(dice.choice([dice.text(blank=False), dice.object()]), dice.choice(words))
        await tracer.record_event(A.EnvironmentEvent(system_instance_id="env", time_record=A.TimeRecord(datetime.datetime.now(UTC).timestamp()), reward=dice.number()))
        await tracer.end_timestep()
    return await tracer.end_session(save=False)


# ------------------------------------------------------------------ Invariant

def invariant(dice):
    from invariant.analyzer import traces
    events, calls, answered = [], [], set()

    def call():
        calls.append(f"call_{len(calls)}{dice.choice(['', ' ü'])}")
        return traces.tool_call(calls[-1], dice.word() if dice.one_in(2) else dice.text(), dice.object())

    for _ in range(dice.randint(1, 10)):
        kind = dice.randrange(8)
        if kind == 0:
            event = traces.system(dice.text())
        elif kind == 1:
            event = traces.user(dice.text(), chunked=dice.one_in(3))
        elif kind == 2:
            event = traces.image("data:image/png;base64,AAAA") if dice.one_in(2) else {"role": dice.choice(["developer", "human", "", "USER"]), "content": dice.choice([None, dice.text()])}
        elif kind in (3, 4):
            event = traces.assistant(dice.choice([dice.text(), None, ""]), [call() for _ in range(dice.randrange(3))])
            if dice.one_in(3):
                del event["tool_calls"]
                calls[:] = [c for c in calls if any(c == t.get("id") for e in events for t in (e.get("tool_calls") or [e]))]
        elif kind == 5 and dice.one_in(3):
            event = call()
        elif kind == 6 and dice.one_in(3):
            event = {"tools": [{"name": dice.word(), "description": dice.text(), "inputSchema": {"type": "object"}}]}
        else:
            open_calls = [c for c in calls if c not in answered]
            if not open_calls:
                continue
            answered.add(open_calls[0])
            event = traces.tool(open_calls[0], dice.any())
            if dice.one_in(4):
                event = traces.chunked(event)
        if "role" in event and dice.one_in(3):
            event["metadata"] = dice.object()
        if "role" in event and dice.one_in(4):
            event[dice.choice(["timestamp", "name", "extra", "ünïcode"])] = dice.choice(["2026-03-02T09:00:00Z", "yesterday", dice.text()])
        events.append(event)
    if not events:
        events.append(traces.user("hello"))
    if dice.one_in(5):
        from invariant_sdk.types.push_traces import PushTracesRequest
        request = PushTracesRequest(messages=[events], annotations=None, dataset=dice.choice([None, "set-1"]), metadata=dice.choice([None, [dice.object()]]))
        return json.dumps(request.to_json())
    if dice.one_in(5):
        return json.dumps({"messages": events, "annotations": dice.choice([[], [{"content": dice.text(), "address": "messages[0]", "extra_metadata": None}]]), "metadata": dice.object()})
    return json.dumps(events, ensure_ascii=dice.one_in(2))


MAKERS = {"contextforge": contextforge, "reflex": reflex, "openreward": openreward, "synth": synth, "invariant": invariant}

# ------------------------------------------------------------------ changes

def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, at + (key,))


def at(value, place):
    for key in place:
        value = value[key]
    return value


def change(dice, document):
    """A copy in which one thing is different; and what was done."""
    document = json.loads(json.dumps(document))
    everywhere = [place for place in places(document) if place]
    if not everywhere:
        return dice.any(), "another value"
    # Deep places are many: take the depth first.
    depth = dice.choice(sorted({len(place) for place in everywhere}))
    place = dice.choice([place for place in everywhere if len(place) == depth])
    above, key = at(document, place[:-1]), place[-1]
    others = [other for other in everywhere if other[-1] == key and other != place]
    kind = dice.randrange(8)
    if kind == 0:
        del above[key]
        return document, f"{place} removed"
    if kind == 1 and isinstance(above, list):
        above.insert(dice.randrange(len(above) + 1), json.loads(json.dumps(above[key])))
        return document, f"{place} doubled"
    if kind == 2 and isinstance(above, list):
        other = dice.randrange(len(above))
        above[key], above[other] = above[other], above[key]
        return document, f"{place} swapped with {other}"
    if kind == 3 and isinstance(above, dict):
        above[dice.choice(["unknown", "Name", key + "s"])] = dice.any()
        return document, f"{place}: a key beside"
    if kind == 4 and isinstance(above, dict):
        above[key.upper() if key.upper() != key else key + "_"] = above.pop(key)
        return document, f"{place} renamed"
    if kind == 5 and others:
        above[key] = json.loads(json.dumps(at(document, dice.choice(others))))
        return document, f"{place} as another"
    odd = dice.choice([None, True, 0, 1, -1, 1.5, 3.0, 2**70, "", " ", "x", "7", "2026-03-02", "2026-03-02T09:00:00", "1999-01-01T00:00:00Z", [], {}, [None], {"a": 1}, "{}", "[1]", 1e300])
    above[key] = odd
    return document, f"{place} is {odd!r}"


# ------------------------------------------------------------------ comparison

# The page says more than the package: there a document that the package takes is refused.
PAGE_ONLY = {
    # pydantic takes seconds, text of a number or a truth value, and steps without what the page requires of them
    "contextforge": ["expected a time in ISO 8601 with a zone", "expected an integer", "expected a number", "expected true or false",
                     "`result` is missing: a tool call that did not fail needs it", "`entity_type` is missing: a write without"],
    "openreward": ["_at: expected text or null", "trace_id must begin with tr_"],     # the oracle does not look at these
}


def is_by_the_page(fmt, violations):
    words = PAGE_ONLY.get(fmt, [])
    return violations and all(any(word in violation for word in words) for violation in violations)


def difference(want, have, place="$"):
    if type(want) is not type(have):
        return f"{place}: {want!r} became {have!r}"[:300]
    if isinstance(want, dict):
        if want.keys() != have.keys():
            return f"{place}: keys {sorted(want.keys() ^ have.keys())}"
        return next(filter(None, (difference(want[k], have[k], f"{place}.{k}") for k in want)), None)
    if isinstance(want, list):
        if len(want) != len(have):
            return f"{place}: {len(want)} items became {len(have)}"
        return next(filter(None, (difference(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(want, have)))), None)
    return None if want == have else f"{place}: {want!r} became {have!r}"[:300]


def refused(program, fmt, files):
    """The violations of each file that has some."""
    found = collections.defaultdict(list)
    for begin in range(0, len(files), 200):
        done = subprocess.run([program, "check", "--json", "--format", fmt, *files[begin:begin + 200]], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            found[row["file"]].append(f"{row['path']}: {row['message']}")
        for line in done.stderr.splitlines():
            for path in files[begin:begin + 200]:
                if path in line and "error" in line:
                    found[path].append(line)
    return found


def back(program, fmt, path, folder):
    """Imports a file and exports it again; the document, or why not."""
    env = {**os.environ, "SPANBRIDGE_DATA_DIR": os.path.join(folder, "data-" + os.path.basename(path))}
    done = subprocess.run([program, "import", "--from", fmt, path], capture_output=True, text=True, env=env)
    if done.returncode:
        return None, done.stderr.strip()[:300]
    done = subprocess.run([program, "export", "--to", fmt], capture_output=True, text=True, env=env)
    subprocess.run(["rm", "-rf", env["SPANBRIDGE_DATA_DIR"]])
    try:
        return json.loads(done.stdout), None
    except ValueError as error:
        return None, f"export: {error}: {done.stderr.strip()[:200]}"


def one_format(fmt, arguments, folder):
    dice = Dice(f"{arguments.seed}/{fmt}")
    valid, changed, notes = [], [], {}

    def put(name, text):
        path = os.path.join(folder, f"{fmt}-{name}.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    for number in range(arguments.count):
        text = MAKERS[fmt](dice)
        valid.append(put(f"{number:04d}", text))
        for more in range(arguments.changes):
            document, what = change(dice, json.loads(text))
            if dice.one_in(4):
                document, also = change(dice, document)
                what += "; " + also
            path = put(f"{number:04d}-{more}", json.dumps(document, ensure_ascii=False))
            changed.append(path)
            notes[path] = what
    ours = refused(arguments.bin, fmt, valid + changed)
    theirs = {path: (ok, message) for path, ok, message in verdicts(fmt, valid + changed)}
    wrong = []
    both = collections.Counter()
    for path in valid + changed:
        ok, message = theirs[path]
        both[ok] += 1
        if ok != (path not in ours) and not (ok and is_by_the_page(fmt, ours.get(path))):
            what = notes.get(path, "as made")
            wrong.append(f"{path}: {what}\n    we: {ours[path][:2] if path in ours else 'no violation'}\n    package: {'accepts' if ok else message[:300]}")
    came_back = 0
    for path in [path for path in valid + changed[::3] if theirs[path][0] and path not in ours]:
        have, why = back(arguments.bin, fmt, path, folder)
        with open(path, encoding="utf-8") as file:
            want = json.load(file)
        why = why or difference(want, have)
        if why:
            wrong.append(f"{path}: does not come back: {why}" + (f" ({notes[path]})" if path in notes else ""))
        else:
            came_back += 1
    print(f"{fmt}: {len(valid)} made, {len(changed)} changed, {both[True]} accepted, {both[False]} refused, {came_back} came back, {len(wrong)} wrong", flush=True)
    for text in wrong[:arguments.show]:
        print("  " + text)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--formats", default=",".join(MAKERS))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--changes", type=int, default=5)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--keep", help="a folder for the documents")
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            folder = os.path.abspath(arguments.keep)
        wrong = sum(one_format(fmt, arguments, folder) for fmt in arguments.formats.split(","))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
