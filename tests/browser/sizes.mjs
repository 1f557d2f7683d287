// Large runs and large payloads: how long until rows are there, elements, memory, the longest task.
import { open, pause } from './browser.mjs';
import { body, large, run, sendAll, traceOf } from './made.mjs';
import { send } from './serving.mjs';

/** Limits in ms: first rows, usable. */
const LIMITS = { 10000: [400, 600], 100000: [500, 700], 1000000: [3000, 3000] };
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

export async function outline(browser, serving, n, { fault, timed }) {
  await sendAll(run(n, n), (part) => send(serving, part));
  const rounds = [];
  for (let round = 0; round < 4; round++) {
    const { page, session, faults } = await open(browser, `${serving.api}/runs/${traceOf(n)}`);
    const at = await page.evaluate(() => Object.fromEntries(['first rows', 'rows', 'usable'].map((name) => [name, Math.round(performance.getEntriesByName(name)[0]?.startTime)])));
    const count = await page.$eval('#rows', (box) => Number(box.getAttribute('aria-rowcount')));
    if (count !== n) fault(`outline of ${n}: ${count} rows`);
    const scrolled = await page.evaluate(async () => {
      const box = document.getElementById('rows'), frame = () => new Promise((next) => requestAnimationFrame(next));
      let elements = 0, worst = 0;
      for (let k = 0; k <= 300; k++) {
        box.scrollTop = box.scrollHeight * k / 300;
        const began = performance.now(); await frame(); worst = Math.max(worst, performance.now() - began);
        if (k % 20 === 0) elements = Math.max(elements, document.querySelectorAll('*').length);
      }
      return { elements, worst: Math.round(worst) };
    });
    await session.send('HeapProfiler.enable'); await session.send('HeapProfiler.collectGarbage');
    const heap = await session.send('Runtime.getHeapUsage');
    rounds.push({ ...at, ...scrolled, heap: (heap.usedSize + (heap.backingStorageSize ?? 0)) / 1048576 });
    for (const text of faults) fault(`outline of ${n}: ${text}`);
    await page.close();
  }
  // The first time the server reads the spans; then it has the run.
  const [first, ...again] = rounds, of = (name) => median(again.map((round) => round[name]));
  const elements = Math.max(...rounds.map((round) => round.elements)), heap = Math.max(...rounds.map((round) => round.heap));
  if (elements > 1400) fault(`outline of ${n}: ${elements} elements`);
  if (heap > 20) fault(`outline of ${n}: ${heap.toFixed(1)} MiB of heap`);
  const [rows, usable] = LIMITS[n] ?? [];
  if (timed && !(of('first rows') <= rows && of('usable') <= usable)) fault(`outline of ${n}: first rows after ${of('first rows')} ms, usable after ${of('usable')} ms; the limits are ${rows} and ${usable}`);
  return `first rows after ${of('first rows')} ms, all drawn after ${of('rows')} ms, usable after ${of('usable')} ms (the first time ${first['first rows']}, ${first.rows} and ${first.usable}), ${elements} elements, ${heap.toFixed(1)} MiB of heap, longest frame ${of('worst')} ms`;
}

export async function payload(browser, serving, megabytes, { fault, timed }) {
  await send(serving, body(large(7, megabytes * 1048576)));
  const { page, faults } = await open(browser, `${serving.api}/runs/${traceOf(7)}`);
  await page.evaluate(() => { document.getElementById('rows').focus(); });
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.getElementById('pane').textContent.includes('quick brown fox'), { timeout: 20000 }).catch(() => fault('payload: the pane does not have it'));
  await pause(300);
  const { text, elements, longest } = await page.evaluate(() => ({ text: document.getElementById('pane').textContent, elements: document.querySelectorAll('*').length, longest: Math.max(0, ...globalThis.longTasks.map(([, took]) => took)) }));
  if (!/64(\.0)? KiB of /.test(text)) fault('payload: the pane does not tell how much there is');
  if (timed && longest > 100) fault(`payload: a task of ${longest} ms`);
  for (const complaint of faults) fault(`payload: ${complaint}`);
  await page.close();
  return `${megabytes} MiB: ${text.length} characters in the pane, ${elements} elements, longest task ${longest} ms`;
}
