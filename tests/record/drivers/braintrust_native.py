"""Braintrust's own SDK in its OpenTelemetry mode, wrap_openai."""
import os
os.environ |= {"BRAINTRUST_OTEL_COMPAT": "true", "BRAINTRUST_API_URL": os.environ["RECORD_URL"], "BRAINTRUST_API_KEY": "none"}
import drive
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from braintrust.otel import BraintrustSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BraintrustSpanProcessor(api_key="none", parent="project_name:trips"))
trace.set_tracer_provider(provider)
import braintrust, openai
client = braintrust.wrap_openai(openai.OpenAI())
drive.facts(question=drive.QUESTION)
with trace.get_tracer("app").start_as_current_span("app"):
    drive.facts(final_answer=drive.chat_loop(client))
provider.force_flush()
