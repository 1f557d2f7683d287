"""Braintrust's span processor with its own span attributes (JSON) by hand."""
import json, os
import drive
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
os.environ["BRAINTRUST_API_URL"] = os.environ["RECORD_URL"]
from braintrust.otel import BraintrustSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BraintrustSpanProcessor(api_key="none", parent="project_name:trips"))
tracer = provider.get_tracer("trips")
import openai
client = openai.OpenAI()


def span(name, kind, value, work):
    with tracer.start_as_current_span(name, attributes={"braintrust.span_attributes": json.dumps({"type": kind, "name": name}), "braintrust.input_json": json.dumps(value)}) as s:
        out = work()
        if kind == "llm":
            u = out.usage
            s.set_attribute("braintrust.metadata", json.dumps({"model": out.model}))
            s.set_attribute("braintrust.metrics", json.dumps({"prompt_tokens": u.prompt_tokens, "completion_tokens": u.completion_tokens, "tokens": u.total_tokens}))
            s.set_attribute("braintrust.output_json", json.dumps([c.model_dump() for c in out.choices]))
        else:
            s.set_attribute("braintrust.output_json", json.dumps(out))
        return out


class Client:
    class chat:
        class completions:
            @staticmethod
            def create(model, messages, tools, temperature=None):
                return span("Chat Completion", "llm", messages, lambda: client.chat.completions.create(model=model, messages=messages, tools=tools))


drive.facts(question=drive.QUESTION)
drive.facts(final_answer=span("plan_trip", "task", drive.QUESTION, lambda: drive.chat_loop(Client, run=lambda _, n, a: span(n, "tool", a, lambda: drive.TOOLS[n](**a)))))
provider.force_flush()
