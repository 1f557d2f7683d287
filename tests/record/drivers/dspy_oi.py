"""DSPy's ReAct with OpenInference."""
import os
import drive
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["RECORD_URL"] + "/v1/traces")))
from openinference.instrumentation.dspy import DSPyInstrumentor
DSPyInstrumentor().instrument(tracer_provider=provider)
import dspy
dspy.configure(lm=dspy.LM("openai/" + drive.MODEL, api_base=os.environ["OPENAI_BASE_URL"], api_key="none"))
drive.facts(question=drive.QUESTION)
try:
    print(dspy.Predict("question -> answer")(question=drive.QUESTION))
except Exception as e:
    print("dspy", type(e))
provider.force_flush()
