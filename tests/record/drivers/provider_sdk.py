"""A provider's package (groq, mistralai) with OpenInference's (oi) or OpenLLMetry's (tl) instrumentation."""
import json, os, sys
import drive
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["RECORD_URL"] + "/v1/traces")))
trace.set_tracer_provider(provider)
name, how = sys.argv[1:3]
package = ("openinference" if how == "oi" else "opentelemetry") + ".instrumentation." + name
module = __import__(package, fromlist=["x"])
getattr(module, {"groq": "GroqInstrumentor", "mistralai": "MistralAIInstrumentor" if how == "oi" else "MistralAiInstrumentor"}[name])().instrument(tracer_provider=provider)
if name == "groq":
    import groq
    client = groq.Groq(api_key="none", base_url=os.environ["RECORD_URL"])
    def complete(messages): return client.chat.completions.create(model="llama-3.3-70b", messages=messages, tools=drive.chat_tools(*drive.TOOLS)).choices[0].message
else:
    from mistralai.client import Mistral
    client = Mistral(api_key="none", server_url=os.environ["RECORD_URL"])
    def complete(messages): return client.chat.complete(model="mistral-large", messages=messages, tools=drive.chat_tools(*drive.TOOLS)).choices[0].message
drive.facts(question=drive.QUESTION)
messages = [{"role": "system", "content": drive.SYSTEM}, {"role": "user", "content": drive.QUESTION}]
with trace.get_tracer("app").start_as_current_span("app"):
    while True:
        m = complete(messages)
        calls = m.tool_calls or []
        messages.append({"role": "assistant", "content": m.content, **({"tool_calls": [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in calls]} if calls else {})})
        if not calls:
            break
        for c in calls:
            try:
                out = drive.TOOLS[c.function.name](**json.loads(c.function.arguments))
            except Exception as e:
                out = f"Error: {e}"
            messages.append({"role": "tool", "tool_call_id": c.id, "name": c.function.name, "content": out})
drive.facts(final_answer=m.content)
provider.force_flush()
