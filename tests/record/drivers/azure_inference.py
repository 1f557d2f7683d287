"""Azure's inference client with its own tracer."""
import os
os.environ["AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED"] = "true"
import drive, json
from azure.core.settings import settings
settings.tracing_implementation = "opentelemetry"
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["RECORD_URL"] + "/v1/traces")))
trace.set_tracer_provider(provider)
from azure.ai.inference.tracing import AIInferenceInstrumentor
AIInferenceInstrumentor().instrument(enable_content_recording=True)
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import AssistantMessage, ChatCompletionsToolDefinition, FunctionDefinition, SystemMessage, ToolMessage, UserMessage
from azure.core.credentials import AzureKeyCredential
client = ChatCompletionsClient(endpoint=os.environ["OPENAI_BASE_URL"], credential=AzureKeyCredential("none"))
tools = [ChatCompletionsToolDefinition(function=FunctionDefinition(name=n, description=f.__doc__, parameters=drive.schema(n))) for n, f in drive.TOOLS.items()]
drive.facts(question=drive.QUESTION)
messages = [SystemMessage(drive.SYSTEM), UserMessage(drive.QUESTION)]
with trace.get_tracer("app").start_as_current_span("app"):
    while True:
        m = client.complete(model=drive.MODEL, messages=messages, tools=tools).choices[0].message
        if not m.tool_calls:
            break
        messages.append(AssistantMessage(content=m.content, tool_calls=m.tool_calls))
        for c in m.tool_calls:
            try:
                out = drive.TOOLS[c.function.name](**json.loads(c.function.arguments))
            except Exception as e:
                out = f"Error: {e}"
            messages.append(ToolMessage(tool_call_id=c.id, content=out))
drive.facts(final_answer=m.content)
provider.force_flush()
