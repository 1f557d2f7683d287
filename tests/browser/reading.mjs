// Reading a run: finding, other scripts, long and wide values, deep runs, copying, a narrow window.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open, pause } from './browser.mjs';
import { body, given, span, traceOf } from './made.mjs';
import { send } from './serving.mjs';

const READ = 80, DEEP = 14, SECOND = 1000000000n;
const ARABIC = 'الاجتماع في الحديقة (Stadtpark) الساعة 17:30.';
const LONG = 'A long answer. '.repeat(300);
const STACK = 'Traceback:\n  File "a.py", line 1\n  File "b.py", line 2';

/** A run with what is hard to read. */
function spans() {
  const agent = (number, parent, name) => span(READ, number, parent, name, [0n, SECOND], { 'openinference.span.kind': 'AGENT', 'agent.name': name });
  const out = [agent(0, -1, 'reader')];
  for (let depth = 1; depth <= DEEP; depth++) out.push(agent(depth, depth - 1, `agent_${depth}`));
  out.push({
    ...span(READ, 20, 0, 'chat', [1n, 2n], {
      'openinference.span.kind': 'LLM', 'llm.model_name': 'a-model', 'llm.input_messages.0.message.role': 'user', 'llm.input_messages.0.message.content': ARABIC,
      'llm.output_messages.0.message.role': 'assistant', 'llm.output_messages.0.message.content': LONG, 'a.document': JSON.stringify({ first: 'x'.repeat(120), second: [1, 2, 3] }),
    }),
    events: [{ timeUnixNano: '1767261600000000001', name: 'exception', attributes: given({ 'exception.stacktrace': STACK }) }],
    links: [{ traceId: traceOf(READ), spanId: '0000000000000001' }, { traceId: 'ab'.repeat(16), spanId: '0000000000000001' }],
  });
  // One name and four payloads have the word.
  out.push(span(READ, 21, 0, 'needle_search', [3n, 4n], { 'openinference.span.kind': 'TOOL', 'tool.name': 'needle_search' }));
  for (let k = 0; k < 4; k++) out.push(span(READ, 22 + k, 0, 'read_file', [5n + BigInt(k), 6n + BigInt(k)], { 'openinference.span.kind': 'TOOL', 'tool.name': 'read_file', 'output.value': `${'hay '.repeat(90)} needle ${k}` }, k === 3 ? 'no such file' : ''));
  return out;
}

export async function reading(browser, serving, fault) {
  await send(serving, body(spans()));
  const at = `${serving.api}/runs/${traceOf(READ)}`;
  const expect = (page, what, test, ...args) => page.waitForFunction(test, { timeout: 3000, polling: 50 }, ...args).catch(() => fault(`reading: ${what}`));
  const { page, faults } = await open(browser, at);

  // Enter goes to each hit in turn, also to those that the server finds.
  await page.focus('#q'); await page.keyboard.type('needle'); await page.keyboard.press('Enter');
  const places = [];
  for (let k = 0; k < 5; k++) {
    await expect(page, `hit ${k + 1} of the words`, () => /^\d+ of 5$/.test(document.getElementById('qn').textContent));
    places.push(await page.$eval('#qn', (shown) => parseInt(shown.textContent)));
    await page.keyboard.press('Enter'); await pause(80);
  }
  if (places.some((place, k) => place !== places[0] % 5 + k && place !== (places[0] + k - 1) % 5 + 1)) fault(`reading: Enter went to the hits ${places}`);

  // Deep rows leave room for their names.
  const [shown, whole] = await page.$eval('#rows .r:nth-child(15) .nm', (name) => [name.clientWidth, name.scrollWidth]).catch(() => [0, 1]);
  if (shown < Math.min(whole, 60)) fault(`reading: a name at depth ${DEEP} has ${shown} of ${whole} px`);
  await page.close();

  // A message in its direction, folded again, with its attributes and events.
  const chat = await open(browser, `${at}?span=0000000000000015`);
  await chat.page.click('[data-tab=conversation]');
  const [first, stop] = await chat.page.$eval('#pane [role=tabpanel]:not([hidden]) .msg.user .txt', (box) => {
    const text = box.firstChild, edge = (from) => { const range = document.createRange(); range.setStart(text, from); range.setEnd(text, from + 1); return range.getBoundingClientRect().left; };
    return [edge(0), edge(text.data.trimEnd().length - 1)];
  });
  if (stop >= first) fault('reading: the full stop of an Arabic sentence is on its right');
  await chat.page.click('#pane [role=tabpanel]:not([hidden]) .long > summary');
  await expect(chat.page, 'a long message opens', () => document.querySelector('#pane [role=tabpanel]:not([hidden]) .long').open);
  await chat.page.click('#pane [role=tabpanel]:not([hidden]) .long > summary .less');
  await expect(chat.page, 'a long message folds again', () => !document.querySelector('#pane [role=tabpanel]:not([hidden]) .long').open);
  await chat.page.click('[data-tab=attributes]');
  await chat.page.$$eval('#pane details.whole', (all) => { for (const one of all) one.open = true; });
  const values = await chat.page.$$eval('#pane .attrs details.whole pre', (all) => all.map((one) => one.textContent));
  if (!values.some((text) => text.includes('"second": [\n'))) fault('reading: the JSON of an attribute does not open');
  const links = await chat.page.$$eval('#pane [id^=p-attributes] dd a', (all) => all.map((one) => one.getAttribute('href')));
  if (!links.some((href) => href.endsWith('?span=0000000000000001')) || links.some((href) => href.includes('abab'))) fault(`reading: the parent and the link lead to ${links}`);
  await chat.page.click('[data-tab=events]');
  const stack = await chat.page.$eval('#pane [id^=p-events] pre', (pre) => pre.textContent).catch(() => '');
  if (!stack.includes('line 1\n')) fault('reading: a stack trace has no line ends');

  // A browser without its clipboard.
  await chat.page.evaluate(() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); });
  await chat.page.click('[data-tab=events]');
  await chat.page.click('#pane [id^=p-events] [data-copyval]');
  await expect(chat.page, 'a value is copied without the clipboard', () => document.querySelector('#pane [id^=p-events] [data-copyval]').textContent === 'Copied');
  for (const text of [...faults, ...chat.faults]) fault(`reading: ${text}`);
  await chat.page.close();

  // A filter that cannot be read keeps the others.
  const wrong = await open(browser, `${serving.api}/?status=error&agent=nobody&since=yesterday`);
  const kept = await wrong.page.evaluate(() => ['status', 'agent', 'since'].map((name) => document.querySelector(`.filters [name=${name}]`)?.value).join() + document.querySelector('[name=since]')?.getAttribute('aria-invalid'));
  if (kept !== 'error,nobody,yesterdaytrue') fault(`reading: with a wrong time the filters are ${kept}`);
  await wrong.page.close();

  // On a phone, a tap shows the step.
  const phone = await open(browser, at, { width: 390 });
  await phone.page.click('#rows .r:nth-child(2)');
  await expect(phone.page, 'a tap brings the step into sight', () => { const { top } = document.getElementById('pane').getBoundingClientRect(); return top >= -1 && top < innerHeight / 2; });
  await phone.page.click('#pane .up');
  await expect(phone.page, 'there is a way back to the steps', () => { const { bottom } = document.getElementById('rows').getBoundingClientRect(); return bottom > 0; });
  await phone.page.close();

  // The file of the run: a call has its messages from the conversation, which has them once.
  const folder = mkdtempSync(join(tmpdir(), 'spanbridge-file-')), file = join(folder, 'run.html');
  writeFileSync(file, await (await fetch(`${serving.api}/api/v1/traces/${traceOf(READ)}/page`)).text());
  const saved = await open(browser, `file://${file}`, { ready: true });
  await saved.page.focus('#q'); await saved.page.keyboard.type('stadtpark'); await saved.page.keyboard.press('Enter');
  await expect(saved.page, 'the file shows the messages of a call', () => document.querySelector('#pane .copied .msg.user .txt')?.textContent.includes('Stadtpark'));
  await saved.page.focus('#rows'); await saved.page.keyboard.press('Home');
  await expect(saved.page, 'the file shows another step', () => document.querySelector('#pane h2')?.textContent === 'reader' && !document.querySelector('.copied'));
  for (const text of saved.faults) fault(`reading: ${text}`);
  await saved.page.close(); rmSync(folder, { recursive: true });

  // The counts of all formats are there soon after the page.
  const documents = await open(browser, `${at}/documents`);
  await expect(documents.page, 'losses are counted', () => [...document.querySelectorAll('.docs nav span.num')].every((one) => /loss/.test(one.textContent)));
  for (const text of documents.faults) fault(`reading: ${text}`);
  await documents.page.close();
}
