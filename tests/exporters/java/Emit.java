import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** The known spans and records through OpenTelemetry's exporters for Java: see README.md. */
public final class Emit {
  private static final long BEGIN = 1767261600L * 1_000_000_000L;
  private static final AtomicBoolean failed = new AtomicBoolean();

  /** Tells of failed exports: the SDK only logs them. */
  private static CompletableResultCode told(CompletableResultCode result) {
    result.whenComplete(
        () -> {
          if (!result.isSuccess()) {
            failed.set(true);
          }
        });
    return result;
  }

  private record Spans(SpanExporter of) implements SpanExporter {
    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      return told(of.export(spans));
    }

    @Override
    public CompletableResultCode flush() {
      return of.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      return of.shutdown();
    }
  }

  private record Records(LogRecordExporter of) implements LogRecordExporter {
    @Override
    public CompletableResultCode export(Collection<LogRecordData> records) {
      return told(of.export(records));
    }

    @Override
    public CompletableResultCode flush() {
      return of.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      return of.shutdown();
    }
  }

  public static void main(String[] arguments) throws Exception {
    String transport = arguments[0];
    String compression = arguments[1];
    String endpoint = arguments[2];
    boolean grpc = transport.equals("grpc");
    SpanExporter spans =
        grpc
            ? OtlpGrpcSpanExporter.builder().setEndpoint(endpoint).setCompression(compression).build()
            : OtlpHttpSpanExporter.builder().setEndpoint(endpoint + "/v1/traces").setCompression(compression).build();
    LogRecordExporter records =
        grpc
            ? OtlpGrpcLogRecordExporter.builder().setEndpoint(endpoint).setCompression(compression).build()
            : OtlpHttpLogRecordExporter.builder().setEndpoint(endpoint + "/v1/logs").setCompression(compression).build();
    Resource resource = Resource.create(Attributes.of(AttributeKey.stringKey("service.name"), "exporter"));
    SdkTracerProvider traces =
        SdkTracerProvider.builder()
            .setResource(resource)
            .addSpanProcessor(BatchSpanProcessor.builder(new Spans(spans)).build())
            .build();
    SdkLoggerProvider loggers =
        SdkLoggerProvider.builder()
            .setResource(resource)
            .addLogRecordProcessor(BatchLogRecordProcessor.builder(new Records(records)).build())
            .build();
    var tracer = traces.tracerBuilder("emit").setInstrumentationVersion("1").build();
    var logger = loggers.loggerBuilder("emit").setInstrumentationVersion("1").build();
    SpanContext linked = SpanContext.create("01".repeat(16), "02".repeat(8), TraceFlags.getSampled(), TraceState.getDefault());
    for (int batch = 0; batch < Integer.parseInt(arguments[3]); batch++) {
      Span root =
          tracer
              .spanBuilder("root")
              .setNoParent()
              .setSpanKind(SpanKind.SERVER)
              .setStartTimestamp(BEGIN + 1, TimeUnit.NANOSECONDS)
              .addLink(linked, Attributes.of(AttributeKey.longKey("l"), 1L))
              .setAttribute("text", "größe ☃")
              .setAttribute("big", (1L << 52) + 1)
              .setAttribute("negative", -42)
              .setAttribute("ratio", 0.5)
              .setAttribute("flag", true)
              .setAttribute(AttributeKey.stringArrayKey("words"), List.of("a", "b"))
              .setAttribute(AttributeKey.longArrayKey("numbers"), List.of(1L, 2L))
              .setAttribute("batch", batch)
              .startSpan();
      root.addEvent("happened", Attributes.of(AttributeKey.longKey("n"), 7L), BEGIN + 500_000_000L, TimeUnit.NANOSECONDS);
      root.setStatus(StatusCode.ERROR, "it broke");
      Context inside = Context.root().with(root);
      Span child =
          tracer
              .spanBuilder("child")
              .setParent(inside)
              .setSpanKind(SpanKind.CLIENT)
              .setStartTimestamp(BEGIN + 250_000_000L, TimeUnit.NANOSECONDS)
              .startSpan();
      child.end(BEGIN + 750_000_000L, TimeUnit.NANOSECONDS);
      logger
          .logRecordBuilder()
          .setContext(inside)
          .setTimestamp(BEGIN + 500_000_000L, TimeUnit.NANOSECONDS)
          .setSeverity(Severity.INFO)
          .setBody("said")
          .setAttribute(AttributeKey.longKey("n"), 7L)
          .emit();
      root.end(BEGIN + 1_500_000_000L, TimeUnit.NANOSECONDS);
      SpanContext context = root.getSpanContext();
      System.out.println(context.getTraceId() + " " + context.getSpanId() + " " + child.getSpanContext().getSpanId());
      System.out.flush();
      traces.forceFlush().join(60, TimeUnit.SECONDS);
      loggers.forceFlush().join(60, TimeUnit.SECONDS);
      Thread.sleep(Long.parseLong(arguments[4]));
    }
    System.exit(failed.get() ? 3 : 0);
  }
}
