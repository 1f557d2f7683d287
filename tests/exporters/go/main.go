// The known spans and records through OpenTelemetry's exporters for Go: see README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

var failed = false

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Tells of failed exports: the SDK only logs them.
type spans struct{ sdktrace.SpanExporter }

func (s spans) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, list)
	note(err)
	return err
}

type records struct{ sdklog.Exporter }

func (r records) Export(ctx context.Context, list []sdklog.Record) error {
	err := r.Exporter.Export(ctx, list)
	note(err)
	return err
}

func note(err error) {
	if err != nil {
		failed = true
		fmt.Fprintln(os.Stderr, err)
	}
}

func exporters(transport, compression, endpoint string) (sdktrace.SpanExporter, sdklog.Exporter) {
	ctx := context.Background()
	address := strings.TrimPrefix(endpoint, "http://")
	if transport == "grpc" {
		of := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(address), otlptracegrpc.WithInsecure()}
		logs := []otlploggrpc.Option{otlploggrpc.WithEndpoint(address), otlploggrpc.WithInsecure()}
		if compression == "gzip" {
			of, logs = append(of, otlptracegrpc.WithCompressor("gzip")), append(logs, otlploggrpc.WithCompressor("gzip"))
		}
		exporter, err := otlptrace.New(ctx, otlptracegrpc.NewClient(of...))
		must(err)
		log, err := otlploggrpc.New(ctx, logs...)
		must(err)
		return exporter, log
	}
	of := []otlptracehttp.Option{otlptracehttp.WithEndpoint(address), otlptracehttp.WithInsecure()}
	logs := []otlploghttp.Option{otlploghttp.WithEndpoint(address), otlploghttp.WithInsecure()}
	if compression == "gzip" {
		of = append(of, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		logs = append(logs, otlploghttp.WithCompression(otlploghttp.GzipCompression))
	}
	exporter, err := otlptrace.New(ctx, otlptracehttp.NewClient(of...))
	must(err)
	log, err := otlploghttp.New(ctx, logs...)
	must(err)
	return exporter, log
}

func at(seconds float64) time.Time {
	return time.Unix(1767261600, int64(seconds*1e9+0.5))
}

func main() {
	transport, compression, endpoint := os.Args[1], os.Args[2], os.Args[3]
	batches, err := strconv.Atoi(os.Args[4])
	must(err)
	pause, err := strconv.Atoi(os.Args[5])
	must(err)
	ctx := context.Background()
	of, logs := exporters(transport, compression, endpoint)
	res := resource.NewSchemaless(attribute.String("service.name", "exporter"))
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans{of}), sdktrace.WithResource(res))
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(records{logs})), sdklog.WithResource(res))
	tracer := traces.Tracer("emit", trace.WithInstrumentationVersion("1"))
	logger := loggers.Logger("emit", log.WithInstrumentationVersion("1"))
	linked := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		SpanID:     trace.SpanID{2, 2, 2, 2, 2, 2, 2, 2},
		TraceFlags: trace.FlagsSampled,
	})
	for batch := range batches {
		inside, root := tracer.Start(ctx, "root", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at(0.000000001)),
			trace.WithLinks(trace.Link{SpanContext: linked, Attributes: []attribute.KeyValue{attribute.Int("l", 1)}}),
			trace.WithAttributes(
				attribute.String("text", "größe ☃"),
				attribute.Int64("big", 1<<52+1),
				attribute.Int("negative", -42),
				attribute.Float64("ratio", 0.5),
				attribute.Bool("flag", true),
				attribute.StringSlice("words", []string{"a", "b"}),
				attribute.IntSlice("numbers", []int{1, 2}),
				attribute.Int("batch", batch)))
		root.AddEvent("happened", trace.WithTimestamp(at(0.5)), trace.WithAttributes(attribute.Int("n", 7)))
		root.SetStatus(codes.Error, "it broke")
		_, child := tracer.Start(inside, "child", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at(0.25)))
		child.End(trace.WithTimestamp(at(0.75)))
		var record log.Record
		record.SetTimestamp(at(0.5))
		record.SetSeverity(log.SeverityInfo)
		record.SetBody(attribute.StringValue("said"))
		record.AddAttributes(attribute.Int("n", 7))
		logger.Emit(inside, record)
		root.End(trace.WithTimestamp(at(1.5)))
		fmt.Println(root.SpanContext().TraceID(), root.SpanContext().SpanID(), child.SpanContext().SpanID())
		note(traces.ForceFlush(ctx))
		note(loggers.ForceFlush(ctx))
		time.Sleep(time.Duration(pause) * time.Millisecond)
	}
	if failed {
		os.Exit(3)
	}
}
