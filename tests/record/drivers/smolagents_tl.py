"""smolagents with OpenLLMetry's or OpenInference's openai instrumentation."""
import os, sys
import drive
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["RECORD_URL"] + "/v1/traces")))
trace.set_tracer_provider(provider)
if "oi" in sys.argv:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    SmolagentsInstrumentor().instrument(tracer_provider=provider)
else:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)
from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def get_weather(city: str) -> str:
    """Get the weather.

    Args:
        city: the city
    """
    return drive.get_weather(city=city)


@tool
def get_time(city: str) -> str:
    """Get local time.

    Args:
        city: the city
    """
    return drive.get_time(city=city)


drive.facts(question=drive.QUESTION)
agent = ToolCallingAgent(tools=[get_weather, get_time], model=OpenAIServerModel(model_id=drive.MODEL, api_base=os.environ["OPENAI_BASE_URL"], api_key="none"), max_steps=3)
print(agent.run(drive.QUESTION))
provider.force_flush()
