// Runs of any size: workers of an orchestrator, each with model calls and tools.
const BEGIN = 1767261600n * 10n ** 9n, HOUR = 3600n * 10n ** 9n;
const hex = (n, digits) => BigInt(n).toString(16).padStart(digits, '0');
const value = (inner) => (typeof inner === 'number' ? { intValue: String(inner) } : { stringValue: inner });
export const given = (pairs) => Object.entries(pairs).map(([key, inner]) => ({ key, value: value(inner) }));

export const traceOf = (number) => hex(0xb0b00000n * 2n ** 64n + BigInt(number), 32);
export const body = (spans) => ({ resourceSpans: [{ resource: { attributes: given({ 'service.name': 'made' }) }, scopeSpans: [{ scope: { name: 'made' }, spans }] }] });

export function span(trace, number, parent, name, [start, end], pairs, failed, begin = BEGIN) {
  return {
    traceId: traceOf(trace), spanId: hex(number + 1, 16), parentSpanId: parent < 0 ? '' : hex(parent + 1, 16), name, kind: 1,
    startTimeUnixNano: String(begin + start), endTimeUnixNano: end === null ? '0' : String(begin + end), attributes: given(pairs),
    status: failed ? { code: 2, message: failed } : {},
  };
}

/** The spans of a run with `n` steps. */
export function* run(trace, n) {
  yield span(trace, 0, -1, 'orchestrator', [0n, HOUR], { 'openinference.span.kind': 'AGENT', 'agent.name': 'orchestrator', 'input.value': `A run of ${n} steps.`, 'output.value': 'Done.' });
  const groups = BigInt(Math.ceil((n - 1) / 201)), wide = HOUR / groups;
  let number = 1;
  for (let g = 0n; number < n; g++) {
    const agent = number++, begin = g * wide, part = wide / 101n;
    yield span(trace, agent, 0, `worker ${g}`, [begin, begin + wide], { 'openinference.span.kind': 'AGENT', 'agent.name': `worker ${g}` });
    for (let k = 0n; k < 100n && number < n; k++) {
      const at = begin + k * part;
      yield span(trace, number++, agent, 'chat', [at, at + part / 2n], { 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-4o-mini', 'llm.token_count.prompt': 900 + Number(k), 'llm.token_count.completion': 40, 'output.value': `Step ${k} of worker ${g}.` });
      if (number < n) yield span(trace, number++, agent, `read_file_${number % 400}`, [at + part / 2n, at + part], { 'openinference.span.kind': 'TOOL', 'tool.name': `read_file_${number % 400}`, 'input.value': `{"path":"/data/${number}"}`, 'output.value': `line ${number}` }, number % 500 === 0 ? 'no such file' : '');
    }
  }
}

/** Sends spans in bodies of 5,000. */
export async function sendAll(spans, take) {
  let part = [];
  for (const one of spans) {
    part.push(one);
    if (part.length === 5000) { await take(body(part)); part = []; }
  }
  if (part.length) await take(body(part));
}

/** A run with one tool of which the result has so many bytes. */
export function large(trace, bytes) {
  const line = '{"row": 1, "text": "the quick brown fox"}\n';
  return [
    span(trace, 0, -1, 'reader', [0n, HOUR], { 'openinference.span.kind': 'AGENT', 'agent.name': 'reader', 'input.value': 'Read it all.' }),
    span(trace, 1, 0, 'read', [1n, HOUR - 1n], { 'openinference.span.kind': 'TOOL', 'tool.name': 'read', 'output.value': line.repeat(Math.ceil(bytes / line.length)) }),
  ];
}

/** A run that goes on: the root has no end. `begin` in nanoseconds. */
export const running = (trace, steps, begin) => [
  span(trace, 0, -1, 'goes on', [0n, null], { 'openinference.span.kind': 'AGENT', 'agent.name': 'goes on', 'input.value': 'Go on.' }, '', begin),
  ...Array.from({ length: steps }, (_, k) => span(trace, k + 1, 0, `step_${k}`, [BigInt(k) * 1000000n, BigInt(k + 1) * 1000000n], { 'openinference.span.kind': 'TOOL', 'tool.name': `step_${k}` }, '', begin)),
];
