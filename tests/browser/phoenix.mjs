// The same runs in Phoenix, which gets them from the program: how long until it shows the first rows of a run, and how many it shows.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from './browser.mjs';
import { run, sendAll, traceOf } from './made.mjs';
import { send, serve } from './serving.mjs';

const free = () => new Promise((done) => { const server = createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => done(port)); }); });
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

async function until(what, holds, seconds) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(500)) if (await holds().catch(() => false)) return;
  throw new Error(`not within ${seconds} s: ${what}`);
}

/** Opens a run as often as the outline does. Times in ms; `undefined`: not within two minutes. */
async function opened(browser, url, n) {
  const page = await browser.newPage(); await page.setViewport({ width: 1440, height: 900 });
  const began = performance.now(), shown = () => page.evaluate(() => document.querySelectorAll('.span-node-wrap').length).catch(() => 0);
  await page.goto(url, { waitUntil: 'domcontentloaded', timeout: 120000 });
  let first, all, rows = 0;
  for (let same = 0; performance.now() - began < 120000 && same < 100; await pause(20)) {
    const now = await shown();
    same = now > 0 && now === rows ? same + 1 : 0;
    if (now > rows) all = performance.now() - began;
    if (now > 0) first ??= performance.now() - began;
    rows = now;
    if (rows === n) break;
  }
  const elements = await page.evaluate(() => document.querySelectorAll('*').length).catch(() => undefined);
  await page.close();
  return { first, all, rows, elements };
}

export async function phoenix(browser, program, installed, n) {
  const directory = mkdtempSync(join(tmpdir(), 'spanbridge-phoenix-')), [http, grpc] = [await free(), await free()], url = `http://127.0.0.1:${http}`;
  const child = spawn(installed, ['serve'], { stdio: 'ignore', env: { ...process.env, PHOENIX_HOST: '127.0.0.1', PHOENIX_PORT: String(http), PHOENIX_GRPC_PORT: String(grpc), PHOENIX_WORKING_DIR: directory, PHOENIX_TELEMETRY_ENABLED: 'false' } });
  const serving = await serve(program, ['--forward', `phoenix=${url}`]);
  try {
    await until('Phoenix is up', async () => (await fetch(`${url}/healthz`)).ok, 300);
    await sendAll(run(n, n), (part) => send(serving, part));
    const query = JSON.stringify({ query: '{ projects { edges { node { recordCount } } } }' });
    const count = async () => (await (await fetch(`${url}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: query })).json()).data.projects.edges.reduce((sum, { node }) => sum + node.recordCount, 0);
    await until(`Phoenix has ${n} spans`, async () => await count() >= n, 1800);
    const rounds = [];
    for (let round = 0; round < 4; round++) rounds.push(await opened(browser, `${url}/redirects/traces/${traceOf(n)}`, n));
    const again = rounds.slice(1), of = (name) => { const known = again.map((round) => round[name]).filter((value) => value !== undefined); return known.length ? Math.round(median(known)) : 'never'; };
    return `Phoenix: first rows after ${of('first')} ms, its last after ${of('all')} ms, ${of('rows')} of ${n} rows, ${of('elements')} elements`;
  } finally {
    const ended = child.exitCode === null && child.signalCode === null ? new Promise((done) => child.once('exit', done)) : undefined;
    child.kill('SIGTERM'); await ended; await serving.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
