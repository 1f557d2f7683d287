// The known spans and records through OpenTelemetry's exporters for JavaScript: see README.md.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [transport, compression, endpoint, batches, pause] = process.argv.slice(2);
const kind = { grpc: 'grpc', 'http/protobuf': 'proto', 'http/json': 'http' }[transport];
const load = createRequire(import.meta.url);
const { OTLPTraceExporter } = load(`@opentelemetry/exporter-trace-otlp-${kind}`);
const { OTLPLogExporter } = load(`@opentelemetry/exporter-logs-otlp-${kind}`);
let failed = false;

// Tells of failed exports: the SDK only logs them.
function telling(exporter) {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => send(items, (result) => {
    if (result.code !== 0) {
      failed = true;
      console.error(String(result.error));
    }
    done(result);
  });
  return exporter;
}

function made(Exporter, path) {
  const url = transport === 'grpc' ? endpoint : `${endpoint}${path}`;
  return telling(new Exporter({ url, compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE }));
}

const at = (nanoseconds) => [1767261600 + Math.floor(nanoseconds / 1e9), nanoseconds % 1e9];
const resource = resourceFromAttributes({ 'service.name': 'exporter' });
const spans = new BatchSpanProcessor(made(OTLPTraceExporter, '/v1/traces'));
const records = new BatchLogRecordProcessor({ exporter: made(OTLPLogExporter, '/v1/logs') });
const traces = new BasicTracerProvider({ resource, spanProcessors: [spans] });
const loggers = new LoggerProvider({ resource, processors: [records] });
const tracer = traces.getTracer('emit', '1');
const logger = loggers.getLogger('emit', '1');
const linked = { traceId: '01'.repeat(16), spanId: '02'.repeat(8), traceFlags: TraceFlags.SAMPLED };

for (let batch = 0; batch < Number(batches); batch += 1) {
  const root = tracer.startSpan('root', {
    kind: SpanKind.SERVER,
    startTime: at(1),
    links: [{ context: linked, attributes: { l: 1 } }],
    attributes: { text: 'größe ☃', big: 2 ** 52 + 1, negative: -42, ratio: 0.5, flag: true, words: ['a', 'b'], numbers: [1, 2], batch },
  }, ROOT_CONTEXT);
  root.addEvent('happened', { n: 7 }, at(5e8));
  root.setStatus({ code: SpanStatusCode.ERROR, message: 'it broke' });
  const inside = trace.setSpan(ROOT_CONTEXT, root);
  const child = tracer.startSpan('child', { kind: SpanKind.CLIENT, startTime: at(25e7) }, inside);
  child.end(at(75e7));
  logger.emit({ timestamp: at(5e8), severityNumber: 9, body: 'said', attributes: { n: 7 }, context: inside });
  root.end(at(15e8));
  console.log(root.spanContext().traceId, root.spanContext().spanId, child.spanContext().spanId);
  // One after the other: a first answer that is lost has to be the spans'.
  await Promise.allSettled([traces.forceFlush()]);
  await Promise.allSettled([loggers.forceFlush()]);
  await sleep(Number(pause));
}
process.exit(failed ? 3 : 0);
