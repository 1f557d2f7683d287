"""DeepEval's OpenTelemetry processor, spans written in Confident's keys."""
import json, os
os.environ |= {"CONFIDENT_OTEL_URL": os.environ["RECORD_URL"], "CONFIDENT_API_KEY": "none", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
import drive
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["RECORD_URL"] + "/v1/traces")))
tracer = provider.get_tracer("trips")
import openai
from deepeval.tracing.otel.attributes import ConfidentAttr as C
client = openai.OpenAI()


class Client:
    class chat:
        class completions:
            @staticmethod
            def create(model, messages, tools, temperature=None):
                with tracer.start_as_current_span("llm", attributes={C.SPAN_TYPE: "llm", C.LLM_MODEL: model, C.SPAN_INPUT: json.dumps(messages)}) as s:
                    out = client.chat.completions.create(model=model, messages=messages, tools=tools)
                    s.set_attribute(C.LLM_INPUT_TOKEN_COUNT, out.usage.prompt_tokens)
                    s.set_attribute(C.LLM_OUTPUT_TOKEN_COUNT, out.usage.completion_tokens)
                    s.set_attribute(C.SPAN_OUTPUT, json.dumps(out.choices[0].message.model_dump(exclude_none=True)))
                    return out


def run(_, name, args):
    with tracer.start_as_current_span(name, attributes={C.SPAN_TYPE: "tool", C.TOOL_NAME: name, C.SPAN_INPUT: json.dumps(args)}) as s:
        out = drive.TOOLS[name](**args)
        s.set_attribute(C.SPAN_OUTPUT, out)
        return out


drive.facts(question=drive.QUESTION)
with tracer.start_as_current_span("agent", attributes={C.SPAN_TYPE: "agent", C.AGENT_NAME: "planner", C.SPAN_INPUT: drive.QUESTION, C.TRACE_THREAD_ID: "thread-7"}) as s:
    answer = drive.chat_loop(Client, run=run)
    s.set_attribute(C.SPAN_OUTPUT, answer)
drive.facts(final_answer=answer)
provider.force_flush()
