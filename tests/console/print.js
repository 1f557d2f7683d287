// Made `printed.txt` and `exported.json`: the same spans and records, as the console exporters print them and as OTLP/JSON.
//   npm install @opentelemetry/api @opentelemetry/api-logs @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/sdk-logs @opentelemetry/resources \
//     @opentelemetry/otlp-transformer && node print.js > printed.txt
const fs = require('fs');
const { context, createTraceState, SpanKind, SpanStatusCode, trace } = require('@opentelemetry/api');
const { JsonLogsSerializer, JsonTraceSerializer } = require('@opentelemetry/otlp-transformer');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { ConsoleLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } = require('@opentelemetry/sdk-logs');
const { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');

fs.rmSync('exported.json', { force: true });
const toFile = (serializer) => ({
  export(items, done) {
    fs.appendFileSync('exported.json', Buffer.from(serializer.serializeRequest(items)).toString() + '\n');
    done({ code: 0 });
  },
  shutdown: () => Promise.resolve(),
  forceFlush: () => Promise.resolve(),
});
const resource = resourceFromAttributes({ 'service.name': 'shop agent', list: ['x', 'y'] });
const tracer = new BasicTracerProvider({
  resource,
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter()), new SimpleSpanProcessor(toFile(JsonTraceSerializer))],
}).getTracer('shop', '1.2.3');
const logger = new LoggerProvider({
  resource,
  processors: [new SimpleLogRecordProcessor({ exporter: new ConsoleLogRecordExporter() }), new SimpleLogRecordProcessor({ exporter: toFile(JsonLogsSerializer) })],
}).getLogger('shop.logs', '4');

console.log('Listening on { port: 3000 }');
console.log({ hello: 'world' });
const root = tracer.startSpan("invoke_agent it's", {
  kind: SpanKind.SERVER,
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'O\'Brien "x"',
    lines: 'one\ntwo\nthree\n',
    tags: ['a', 'b'],
    none: [],
    empty: '',
    flags: [true, false],
    share: 1.5,
    'with-dash': `back\`tick 'and' "both"`,
    other: 'é😀\u0007\t\\',
    like: "'a' +\n  'b', ... 3 more items [Object] {\n}\n{\n",
    numbers: Array.from({ length: 60 }, (_, n) => n),
    texts: Array.from({ length: 30 }, (_, n) => `a longer text, number ${n}, with commas`),
  },
});
const inside = trace.setSpan(context.active(), root);
const chat = tracer.startSpan('chat gpt', {
  kind: SpanKind.CLIENT,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5',
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: "Hi\nthere, it's \\ me, " + 'long '.repeat(300) }] }]),
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Hello' }] }]),
    holes: ['a', null, 'b'],
  },
  links: [{ context: root.spanContext(), attributes: { why: 'because' } }],
}, inside);
console.log('thinking', [1, 2, 3]);
chat.addEvent('first token', { index: 0, text: 'a\nb' });
chat.addEvent('bare');
chat.recordException(new Error('boom'));
chat.setStatus({ code: SpanStatusCode.ERROR, message: 'boom' });
logger.emit({ eventName: 'gen_ai.choice', severityNumber: 9, body: { index: 0, message: { content: 'Hello' } }, attributes: { n: 1 }, context: trace.setSpan(context.active(), chat) });
chat.end();
const remote = { traceId: root.spanContext().traceId, spanId: chat.spanContext().spanId, traceFlags: 1, isRemote: true, traceState: createTraceState('k1=v1,k2=v2') };
tracer.startSpan('execute_tool with state', { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 't' } }, trace.setSpanContext(context.active(), remote)).end();
root.end();
console.log('done');
