// Ten live pages beside full load: whether they answer, and what they cost who sends. The load is that of tests/loadgen.
import { spawn } from 'node:child_process';
import { open, pause } from './browser.mjs';
import { body, running, traceOf } from './made.mjs';
import { send } from './serving.mjs';

const ROUNDS = 3, TABS = 10;
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

function load(loadgen, serving) {
  const child = spawn(loadgen, ['--target', serving.http, '--spans', '200000', '--connections', '4', '--server-pid', String(serving.pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (part) => { text += part; });
  return new Promise((done, failed) => child.once('exit', (code) => { if (code) failed(new Error(`the load ended with ${code}`)); else done(JSON.parse(text.trim().split('\n').at(-1))); }));
}

export async function tabs(browser, serving, loadgen, fault) {
  const none = [], ten = [], waits = [], opens = [];
  for (let round = 0; round < ROUNDS; round++) {
    none.push(await load(loadgen, serving));
    const live = 80 + round;
    await send(serving, body(running(live, 3, BigInt(Date.now()) * 1000000n)));
    const pages = [];
    for (let tab = 0; tab < TABS; tab++) {
      const began = performance.now();
      pages.push(await open(browser, `${serving.api}/${tab % 2 ? `runs/${traceOf(live)}` : ''}`));
      opens.push(performance.now() - began);
    }
    let works = true;
    const asked = Promise.all(pages.map(async ({ page }) => {
      for (; works; await pause(250)) { const began = performance.now(); await page.evaluate(() => document.readyState); waits.push(performance.now() - began); }
    }));
    ten.push(await load(loadgen, serving));
    works = false; await asked;
    // Each page has what came, when it is looked at.
    const before = await Promise.all(pages.map(({ page }, tab) => (tab % 2 ? page.$eval('#rows', (box) => Number(box.getAttribute('aria-rowcount'))) : 0)));
    await send(serving, body(running(live, 4, BigInt(Date.now()) * 1000000n).slice(4)));
    for (const [tab, { page, faults }] of pages.entries()) {
      await page.bringToFront();
      if (tab % 2) await page.waitForFunction((count) => Number(document.getElementById('rows').getAttribute('aria-rowcount')) > count, { timeout: 5000, polling: 50 }, before[tab]).catch(() => fault(`tabs: page ${tab} does not have a new step`));
      for (const text of faults) fault(`tabs: ${text}`);
      await page.close();
    }
  }
  const of = (runs, name) => median(runs.map((run) => run[name]));
  const told = (runs) => `${Math.round(of(runs, 'mb_per_s'))} MB/s, ${of(runs, 'server_cpu_s_per_1m_spans').toFixed(1)} CPU s a million spans`;
  const worst = Math.max(...waits), slowest = Math.max(...opens);
  if (slowest > 5000) fault(`tabs: a page is there after ${Math.round(slowest)} ms`);
  if (worst > 1000) fault(`tabs: a page answers after ${Math.round(worst)} ms`);
  return `without pages ${told(none)}; with ${TABS} ${told(ten)}; a page is there after ${Math.round(median(opens))} ms, at most ${Math.round(slowest)}, and answers after ${Math.round(median(waits))} ms, at most ${Math.round(worst)}`;
}
