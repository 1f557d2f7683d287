"""PostHog's span processor, spans in the AI SDK's style by hand."""
import os
import drive
from opentelemetry.sdk.trace import TracerProvider
from posthog.ai.otel import PostHogSpanProcessor
provider = TracerProvider()
provider.add_span_processor(PostHogSpanProcessor(api_key="none", host=os.environ["RECORD_URL"]))
print("processor ok")
provider.force_flush()
