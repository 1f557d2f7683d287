"""The known spans and records through OpenTelemetry's exporters for Python: see README.md."""
import sys, time

import grpc
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags

BEGIN = 1767261600 * 10**9
failed = False


def telling(exporter):
    """Tells of failed exports: the SDK only logs them."""
    send = exporter.export

    def export(*arguments, **named):
        global failed
        result = send(*arguments, **named)
        failed |= result.name != "SUCCESS"
        return result

    exporter.export = export
    return exporter


def exporters(transport, compression, endpoint):
    if transport == "grpc":
        packing = {"none": grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}[compression]
        return [telling(kind(endpoint=endpoint, insecure=True, compression=packing)) for kind in (GrpcSpans, GrpcLogs)]
    packing = {"none": Compression.NoCompression, "gzip": Compression.Gzip, "deflate": Compression.Deflate}[compression]
    return [telling(HttpSpans(endpoint=f"{endpoint}/v1/traces", compression=packing)),
            telling(HttpLogs(endpoint=f"{endpoint}/v1/logs", compression=packing))]


def main(transport, compression, endpoint, batches, pause):
    spans, records = exporters(transport, compression, endpoint)
    resource = Resource({"service.name": "exporter"})
    traces, loggers = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(spans))
    loggers.add_log_record_processor(BatchLogRecordProcessor(records))
    tracer, logger = traces.get_tracer("emit", "1"), loggers.get_logger("emit", "1")
    linked = SpanContext(int("01" * 16, 16), int("02" * 8, 16), is_remote=True, trace_flags=TraceFlags(1))
    for batch in range(int(batches)):
        root = tracer.start_span("root", Context(), SpanKind.SERVER, start_time=BEGIN + 1, links=[Link(linked, {"l": 1})], attributes={
            "text": "größe ☃", "big": 2**52 + 1, "negative": -42, "ratio": 0.5, "flag": True, "words": ["a", "b"], "numbers": [1, 2],
            "batch": batch})
        root.add_event("happened", {"n": 7}, BEGIN + 5 * 10**8)
        root.set_status(StatusCode.ERROR, "it broke")
        inside = trace.set_span_in_context(root, Context())
        child = tracer.start_span("child", inside, SpanKind.CLIENT, start_time=BEGIN + 25 * 10**7)
        child.end(BEGIN + 75 * 10**7)
        logger.emit(LogRecord(timestamp=BEGIN + 5 * 10**8, observed_timestamp=BEGIN + 5 * 10**8, context=inside,
                              severity_number=SeverityNumber.INFO, body="said", attributes={"n": 7}))
        root.end(BEGIN + 15 * 10**8)
        ids = root.get_span_context(), child.get_span_context()
        print(f"{ids[0].trace_id:032x} {ids[0].span_id:016x} {ids[1].span_id:016x}", flush=True)
        traces.force_flush()
        loggers.force_flush()
        time.sleep(int(pause) / 1000)
    traces.shutdown()
    loggers.shutdown()


main(*sys.argv[1:])
sys.exit(3 if failed else 0)
