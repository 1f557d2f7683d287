"""A small agent on the openai package. Every span is made by OpenInference's instrumentation or its conventions."""
import json

import openai
from opentelemetry.trace import Status, StatusCode

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "search_flights", "description": "Flights.", "parameters": {
        "type": "object", "properties": {"to": {"type": "string"}, "day": {"type": "string"}}, "required": ["to", "day"]}}},
]

QUESTION = "Weather in Bogotá and a flight on Friday or Saturday?"


def run_tool(tracer, call):
    arguments = json.loads(call.function.arguments)
    with tracer.start_as_current_span(call.function.name, attributes={
            "openinference.span.kind": "TOOL", "tool.name": call.function.name, "tool_call.id": call.id,
            "input.value": call.function.arguments, "input.mime_type": "application/json"}) as span:
        if arguments.get("day") == "Friday":
            span.set_status(Status(StatusCode.ERROR, "no flights on Friday"))
            return "Error: no flights on Friday"
        result = {"temperature": 22, "sky": "cloudy"} if "city" in arguments else {"flights": ["AV 9"]}
        span.set_attribute("output.value", json.dumps(result))
        span.set_attribute("output.mime_type", "application/json")
        return json.dumps(result)


def plan_a_trip(client, tracer, session):
    """Three model calls, three tool runs of which one fails, below one AGENT span."""
    with tracer.start_as_current_span("trip-planner", attributes={
            "openinference.span.kind": "AGENT", "agent.name": "trip-planner", "session.id": session, "input.value": QUESTION}) as span:
        messages = [{"role": "system", "content": "You plan trips."}, {"role": "user", "content": QUESTION}]
        while True:
            reply = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS, temperature=0.1).choices[0].message
            messages.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                span.set_attribute("output.value", reply.content)
                return
            for call in reply.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": run_tool(tracer, call)})


def count(client):
    """A streamed call of the bare client: a trace of its own."""
    stream = client.chat.completions.create(model="gpt-4o-mini", stream=True, stream_options={"include_usage": True},
                                            messages=[{"role": "user", "content": "Count to three."}])
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def fail(client):
    """A call that the model server refuses."""
    try:
        client.chat.completions.create(model="no-such-model", messages=[{"role": "user", "content": "Hello?"}])
    except openai.NotFoundError:
        return
    raise AssertionError("the model server took a model that does not exist")
