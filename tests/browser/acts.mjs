// What people do: keys, find, what arrives live, dead letters again.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { open, pause } from './browser.mjs';
import { body, run, running, sendAll, traceOf } from './made.mjs';
import { send, serve } from './serving.mjs';

const FAILED = '5b8efff798038103d269000000210001';

export async function keys(browser, api, fault) {
  const { page, faults } = await open(browser, `${api}/runs/${FAILED}`);
  const expect = async (what, test, ...given) => {
    await page.waitForFunction(test, { timeout: 3000, polling: 50 }, ...given).catch(async () => fault(`keys: ${what}`));
  };
  // By keyboard alone: to the outline, down, fold, read, back.
  for (let k = 0; k < 60 && (await page.evaluate(() => document.activeElement.id)) !== 'rows'; k++) await page.keyboard.press('Tab');
  await expect('Tab reaches the outline', () => document.activeElement.id === 'rows');
  const grid = await page.$$eval('#rows[role=treegrid] [role=row]:not([hidden])', (rows) => rows.map((row) => ['level', 'posinset', 'setsize', 'rowindex'].map((name) => row.getAttribute(`aria-${name}`)).join(' ')));
  if (grid.slice(0, 4).join(', ') !== '1 1 1 1, 2 1 1 2, 3 1 4 3, 3 2 4 4') fault(`keys: levels and positions are ${grid}`);
  const level = () => page.$eval('#rows [aria-selected=true]', (row) => row.getAttribute('aria-rowindex'));
  await page.keyboard.press('Home');
  await expect('Home selects the first row', () => document.querySelector('#rows [aria-selected=true]')?.getAttribute('aria-rowindex') === '1');
  await page.keyboard.press('ArrowDown');
  await expect('Down selects the second row', () => document.querySelector('#rows [aria-selected=true]')?.getAttribute('aria-rowindex') === '2');
  await page.keyboard.press('ArrowLeft'); await page.keyboard.press('ArrowLeft');
  await expect('Left goes to the parent and folds', () => document.getElementById('rows').getAttribute('aria-rowcount') === '1' || document.querySelector('#rows [aria-selected=true]')?.getAttribute('aria-rowindex') === '1');
  await page.keyboard.press('*'); await page.keyboard.press('End');
  const last = await level();
  if (last === '1') fault('keys: End stays at the first row');
  await page.keyboard.press('Enter');
  await expect('Enter goes to the pane', () => document.activeElement.id === 'pane');
  await page.keyboard.press('Escape');
  await expect('Escape goes back to the outline', () => document.activeElement.id === 'rows');
  await page.keyboard.press('f');
  await expect('f goes to find', () => document.activeElement.id === 'q');
  await page.keyboard.type('zerodivision');
  await expect('find looks in payloads', () => /^(–|\d+) of \d+$/.test(document.getElementById('qn').textContent));
  await page.keyboard.press('Enter');
  await expect('Enter goes to a hit', () => /^\d+ of \d+$/.test(document.getElementById('qn').textContent));
  await page.keyboard.press('Escape'); await page.keyboard.press('?');
  await expect('? opens the list of keys', () => document.querySelector('dialog[open]') !== null);
  await page.keyboard.press('Escape');
  const address = await page.evaluate(() => location.search);
  if (!/span=/.test(address)) fault(`keys: the address has no step: ${address}`);
  for (const text of faults) fault(`keys: ${text}`);
  await page.close();
}

/** A run is in the list, and a step in its run, within a second of the answer to who sent it. */
export async function live(browser, serving, fault) {
  const list = await open(browser, serving.api + '/');
  await list.page.waitForFunction(() => document.getElementById('live')?.textContent === 'Live', { timeout: 5000 }).catch(() => fault('live: the list is not live'));
  await send(serving, body(running(70, 3)));
  let began = performance.now();
  await list.page.waitForFunction(() => !document.getElementById('newer').hidden, { timeout: 5000, polling: 20 }).catch(() => fault('live: the list was not told of a run'));
  const listed = Math.round(performance.now() - began);
  await list.page.click('#newer');
  await list.page.waitForSelector(`#runs tbody tr [href*="${traceOf(70)}"]`, { timeout: 3000 }).catch(() => fault('live: the run is not in the list'));

  const one = await open(browser, `${serving.api}/runs/${traceOf(70)}`);
  await one.page.waitForFunction(() => document.getElementById('sum')?.title === 'live', { timeout: 5000 }).catch(() => fault('live: the run is not live'));
  await one.page.evaluate(() => { document.getElementById('rows').focus(); });
  await one.page.keyboard.press('End');
  const chosen = await one.page.$eval('#rows [aria-selected=true]', (row) => row.textContent);
  const count = await one.page.$eval('#rows', (box) => Number(box.getAttribute('aria-rowcount')));
  await send(serving, body(running(70, 5).slice(4)));
  began = performance.now();
  await one.page.waitForFunction((before) => Number(document.getElementById('rows').getAttribute('aria-rowcount')) === before + 2, { timeout: 5000, polling: 20 }, count).catch(() => fault('live: the new steps are not in the outline'));
  const step = Math.round(performance.now() - began);
  const after = await one.page.$eval('#rows [aria-selected=true]', (row) => row.textContent);
  if (chosen.slice(0, 10) !== after.slice(0, 10)) fault(`live: the selection moved from ${chosen} to ${after}`);
  for (const [what, took] of [['a run', listed], ['a step', step]]) if (took > 1000) fault(`live: ${what} took ${took} ms`);
  for (const text of [...list.faults, ...one.faults]) fault(`live: ${text}`);
  await list.page.close(); await one.page.close();
  return `a run after ${listed} ms, a step after ${step} ms`;
}

/** An empty list shows the first run; the head of a run that goes on changes, other views tell what is newer, and of a long outline only what is new is sent. */
export async function goesOn(browser, program, fault) {
  const serving = await serve(program), trace = 74, now = BigInt(Date.now()) * 1000000n, at = `${serving.api}/runs/${traceOf(trace)}`;
  const expect = (page, what, test, ...given) => page.waitForFunction(test, { timeout: 5000, polling: 50 }, ...given).catch(() => fault(`goes on: ${what}`));
  try {
    const list = await open(browser, serving.api + '/');
    await expect(list.page, 'the empty list is live', () => document.getElementById('live')?.textContent === 'Live');
    const steps = running(trace, 3000, now);
    await sendAll(steps.slice(0, 2990), (part) => send(serving, part));
    await expect(list.page, 'the first run is on the empty list', () => document.querySelector('#runs tbody tr') !== null);

    const one = await open(browser, at), other = await open(browser, `${at}/conversation`), sizes = [];
    one.page.on('response', async (answer) => { if (answer.url().includes('/skeleton')) sizes.push((await answer.buffer().catch(() => [])).length); });
    await expect(one.page, 'the run is live', () => document.getElementById('sum')?.title === 'live');
    await pause(300);
    const figure = (name) => `[...document.querySelectorAll('.runhead .facts div')].find((one) => one.querySelector('dt')?.textContent === '${name}')?.querySelector('dd').textContent`;
    const [last] = running(trace, 0, now); last.endTimeUnixNano = String(now + 4000000000n);
    await send(serving, body([{ ...steps[2991], status: { code: 2, message: 'it broke' } }, last]));
    await expect(other.page, 'the conversation tells of newer steps', () => /newer step/.test(document.querySelector('.newer')?.textContent));
    // A page behind another one has no stream until it is looked at again.
    await one.page.bringToFront();
    await expect(one.page, 'the head has the failure', `${figure('Failures')} === '1'`);
    await expect(one.page, 'the head has the end', () => /Failed|OK/.test(document.querySelector('.runhead .st').textContent) && !document.querySelector('.runhead').textContent.includes('so far'));
    await expect(one.page, 'the button of errors has them', () => document.getElementById('b-err').textContent === 'Errors 1' && !document.getElementById('b-err').disabled);
    if (!(sizes.length && Math.max(...sizes) < 3000)) fault(`goes on: ${sizes} bytes of the outline were sent for two steps of 3,000`);
    for (const text of [...list.faults, ...one.faults, ...other.faults]) fault(`goes on: ${text}`);
    return `${sizes} bytes for two of 3,000 steps`;
  } finally {
    await serving.stop();
  }
}

/** A step that comes before its parent waits for it at the top, and is below it when it has come. */
export async function orphan(browser, serving, fault) {
  // A page of a run that has ended is live while that is recent.
  const [root, first] = running(73, 1, BigInt(Date.now()) * 1000000n);
  await send(serving, body([first]));
  const { page, faults } = await open(browser, `${serving.api}/runs/${traceOf(73)}`);
  const rows = (wanted) => page.waitForFunction((text) => [...document.querySelectorAll('#rows [role=row]:not([hidden])')].map((row) => `${row.getAttribute('aria-level')} ${row.querySelector('.nm').textContent}${row.classList.contains('pend') ? ' waits' : ''}`).join(', ') === text, { timeout: 5000, polling: 50 }, wanted).catch(() => fault(`orphan: the rows are not ${wanted}`));
  await rows('1 step_0 waits');
  await send(serving, body([root]));
  await rows('1 goes on, 2 step_0');
  for (const text of faults) fault(`orphan: ${text}`);
  await page.close();
}

/** A note is saved, and is on the page of its step. */
export async function judge(browser, api, fault) {
  const { page, faults } = await open(browser, `${api}/runs/${FAILED}`);
  await page.waitForSelector('#pane form');
  await page.$eval('#pane .feedback details', (details) => { details.open = true; });
  for (const [name, text] of [['label', 'wrong'], ['score', '0.25'], ['explanation', 'It divides by <zero>.'], ['annotator', 'Ana']]) await page.type(`#pane form [name=${name}]`, text);
  await Promise.all([page.waitForNavigation({ timeout: 5000 }), page.click('#pane form button')]);
  const said = 'It divides by <zero>.';
  await page.waitForFunction((wanted) => document.querySelector('.feedback .said')?.textContent.includes(wanted), { timeout: 5000 }, said).catch(() => fault('judge: the note is not on the page'));
  for (const text of faults) fault(`judge: ${text}`);
  await page.close();
}

/** Ten runs are judged by keys and ten by clicks, within their limits; the list has the labels, and rows of one label are downloaded. */
export async function review(browser, program, fault) {
  const serving = await serve(program), most = { keys: 30, clicks: 12 };
  try {
    for (let k = 0; k < 20; k++) await send(serving, body([...run(100 + k, 3)]));
    const { page, faults } = await open(browser, `${serving.api}/review?judged=no&order=oldest`);
    let keys = 0, clicks = 0;
    const press = async (key) => { keys++; await page.keyboard.press(key); };
    const click = async (selector) => { clicks++; await page.click(selector); };
    const text = (selector) => page.$eval(selector, (node) => node.textContent);
    if (!/^1 of 20$/.test((await text('.review nav b')).trim())) fault(`review: the progress is ${await text('.review nav b')}`);
    await press('j');
    await page.waitForFunction(() => document.querySelector('.review nav b')?.textContent.trim() === '2 of 20', { timeout: 5000 }).catch(() => fault('review: j does not go on'));
    await press('k');
    await page.waitForFunction(() => document.querySelector('.review nav b')?.textContent.trim() === '1 of 20', { timeout: 5000 }).catch(() => fault('review: k does not go back'));
    // The name is given once.
    await page.focus('#judge [name=annotator]');
    for (const letter of 'Ana') await press(letter);
    await press('Escape');
    for (let k = 0; k < 10; k++) await Promise.all([page.waitForNavigation({ timeout: 5000 }), press('1')]);
    if (keys > most.keys) fault(`review: ${keys} keys`);
    if (!/^\d+ of 10$/.test((await text('.review nav b')).trim())) fault(`review: what is judged does not leave the queue: ${await text('.review nav b')}`);

    await page.goto(`${serving.api}/?judged=no`, { waitUntil: 'load' });
    for (const box of await page.$$('#runs input[name=t]')) { clicks++; await box.click(); }
    await Promise.all([page.waitForNavigation({ timeout: 5000 }), click('#mark button[value=bad]')]);
    if (clicks > most.clicks) fault(`review: ${clicks} clicks`);
    for (const label of ['good', 'bad']) {
      await page.goto(`${serving.api}/?label=feedback%3D${label}`, { waitUntil: 'load' });
      const rows = await page.$$eval('#runs tbody tr', (all) => all.map((row) => row.textContent));
      if (rows.length !== 10 || !rows.every((row) => row.includes(`feedback=${label}`))) fault(`review: ${rows.length} rows have ${label}`);
    }
    const answer = await fetch(`${serving.api}/api/v1/runs/documents?to=contextforge&label=good`);
    const lines = (await answer.text()).trim().split('\n').map((line) => JSON.parse(line));
    if (lines.length !== 10) fault(`review: ${lines.length} documents`);
    const by = await page.evaluate(async (api) => (await (await fetch(`${api}/api/v1/runs?label=good`)).json()).runs.map((listed) => listed.scores[0].annotator), serving.api);
    if (!by.every((name) => name === 'Ana')) fault(`review: the name is ${by}`);
    const elements = await page.evaluate(() => document.getElementsByTagName('*').length);
    for (const said of faults) fault(`review: ${said}`);
    await page.close();
    return `${keys} keys, ${clicks} clicks, ${elements} elements for ten rows`;
  } finally {
    await serving.stop();
  }
}

/** Where tokens are required, a browser logs in with one. */
export async function logIn(browser, program, fault) {
  const made = spawnSync(program, ['token', 'new', '--name', 'ana', '--right', 'read'], { encoding: 'utf8' });
  const hash = made.stderr.match(/sha256:[0-9a-f]+/)[0];
  const serving = await serve(program, ['--tokens', `[{ name = "ana", hash = "${hash}", rights = ["read"] }]`]);
  try {
    const { page } = await open(browser, `${serving.api}/sessions`);
    await page.type('input[type=password]', made.stdout.trim());
    const [answer] = await Promise.all([page.waitForNavigation({ timeout: 5000 }), page.keyboard.press('Enter')]);
    if (answer.status() !== 200 || new URL(page.url()).pathname !== '/sessions') fault(`log in: ${page.url()} with ${answer.status()}`);
    await page.close();
  } finally {
    await serving.stop();
  }
}

/** A destination refuses, an operator looks why, and sends again with a click. */
export async function deadLetters(browser, program, fault) {
  let refuses = true, taken = 0;
  const backend = createServer(async (request, answer) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const isBad = Buffer.concat(parts).includes('goes on');
    if (isBad && !refuses) taken++;
    if (isBad && refuses) answer.writeHead(400, { 'content-type': 'text/plain' }).end('no such <b>tenant</b>');
    else answer.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise((ready) => backend.listen(0, '127.0.0.1', ready));
  const serving = await serve(program, ['--forward', `backend=http://127.0.0.1:${backend.address().port}/v1/traces`]);
  try {
    await send(serving, body([...run(72, 10)]));
    await send(serving, body(running(71, 2)));
    const { page, faults } = await open(browser, `${serving.api}/operations/dead-letters/backend`);
    const has = (text) => page.evaluate((wanted) => document.body.textContent.includes(wanted), text);
    for (let k = 0; k < 50 && !(await has('no such <b>tenant</b>')); k++) { await pause(200); await page.reload({ waitUntil: 'load' }); }
    if (!(await has('no such <b>tenant</b>'))) fault('dead letters: the reason is not on the page');
    refuses = false;
    await page.goto(`${serving.api}/operations`, { waitUntil: 'load' });
    const [answer] = await Promise.all([page.waitForNavigation({ timeout: 5000 }), page.click('::-p-xpath(//button[contains(., "Retry")])')]);
    if (![200, 304].includes(answer.status())) fault(`dead letters: the button is answered with ${answer.status()}`);
    for (let k = 0; k < 50 && !taken; k++) await pause(200);
    if (!taken) fault('dead letters: nothing was sent again');
    for (const text of faults) fault(`dead letters: ${text}`);
    await page.close();
  } finally {
    await serving.stop(); backend.closeAllConnections(); backend.close();
  }
}
