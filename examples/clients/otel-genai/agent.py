"""An agent on the `openai` package. OpenTelemetry makes a span for each model call; the spans around them are made here."""
import json

from openai import OpenAI
from opentelemetry import trace

tracer = trace.get_tracer("travel_agent")
client = OpenAI()


def get_weather(city: str) -> str:
    return f"{city}: 18C sunny"


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather for a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def run_tool(call) -> str:
    with tracer.start_as_current_span(f"execute_tool {call.function.name}") as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", call.function.name)
        span.set_attribute("gen_ai.tool.call.id", call.id)
        span.set_attribute("gen_ai.tool.call.arguments", call.function.arguments)
        result = get_weather(**json.loads(call.function.arguments))
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def run_agent(question: str) -> str:
    # Without this span each model call is a trace of its own, and so a run of its own.
    with tracer.start_as_current_span("invoke_agent travel_agent") as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "travel_agent")
        messages = [{"role": "user", "content": question}]
        while True:
            answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS).choices[0].message
            messages.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                return answer.content
            for call in answer.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": run_tool(call)})


print(run_agent("What is the weather in Paris and Tokyo?"))
