// What a model saw, and how messages are written: parts of a prompt, Markdown, edits, commands.
import { open } from './browser.mjs';
import { body, span, traceOf } from './made.mjs';
import { send } from './serving.mjs';

const SEEN = 81;
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const MARKDOWN = '# A title\n\nSome **bold** words, `code` and <img src=x onerror=alert(1)> [a link](https://elsewhere.example/x).\n\n```\nfirst line\n  second\n```\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n1. one\n   - nested\n2. two';

function call(number, system, words, tools, temperature, output) {
  const flat = { 'openinference.span.kind': 'LLM', 'llm.model_name': 'a-model', 'llm.token_count.prompt': 1000, 'llm.invocation_parameters': JSON.stringify({ temperature, max_tokens: 500 }) };
  const said = [['system', system], ...words];
  said.forEach(([role, text], k) => { flat[`llm.input_messages.${k}.message.role`] = role; flat[`llm.input_messages.${k}.message.content`] = text; });
  tools.forEach((name, k) => { flat[`llm.tools.${k}.tool.json_schema`] = JSON.stringify({ type: 'function', function: { name, description: `What ${name} does.`, parameters: { type: 'object', properties: { amount: { type: 'number' } } } } }); });
  return span(SEEN, number, 0, 'chat', [BigInt(number), BigInt(number) + 1n], { ...flat, ...output });
}
const calls = (name, given, at = 0) => ({ [`llm.output_messages.0.message.tool_calls.${at}.tool_call.function.name`]: name, [`llm.output_messages.0.message.tool_calls.${at}.tool_call.function.arguments`]: JSON.stringify(given) });

export async function seen(browser, serving, fault) {
  const root = span(SEEN, 0, -1, 'agent', [0n, 100n], { 'openinference.span.kind': 'AGENT', 'agent.name': 'agent' });
  const first = [['user', MARKDOWN]], answer = { 'llm.output_messages.0.message.role': 'assistant', 'llm.output_messages.0.message.content': 'I edit it.' };
  await send(serving, body([root,
    call(1, 'At most 200 EUR.', first, ['refund'], 0.2, { ...answer, ...calls('Edit', { file_path: '/src/a.py', old_string: 'a = 1\nb = 2', new_string: 'a = 1\nb = 3' }), ...calls('Bash', { command: 'ls -l | wc' }, 1) }),
    call(2, 'At most 50 EUR.', [...first, ['assistant', 'I edit it.'], ['user', 'And now?']], ['refund', 'delete_account'], 1, { ...answer, 'llm.output_messages.0.message.content': 'Done.' })]));
  const image = (k, url) => ({ [`llm.input_messages.0.message.contents.${k}.message_content.type`]: 'image', [`llm.input_messages.0.message.contents.${k}.message_content.image.image.url`]: url });
  await send(serving, body([span(SEEN, 3, 0, 'chat', [3n, 4n], { 'openinference.span.kind': 'LLM', 'llm.input_messages.0.message.role': 'user', ...image(0, `data:image/png;base64,${PNG}`), ...image(1, `data:image/svg+xml;base64,${Buffer.from('<svg onload="alert(1)"/>').toString('base64')}`), ...image(2, 'https://elsewhere.example/a.png') })]));
  const at = `${serving.api}/runs/${traceOf(SEEN)}`;

  const { page, faults } = await open(browser, `${at}?span=0000000000000003`);
  await page.click('[data-tab=prompt]');
  const prompt = await page.$eval('#pane [id^=p-prompt]', (part) => part.textContent.replace(/\s+/g, ' '));
  for (const words of ['What the model was given', 'new words', 'Estimated', 'temperature', 'max_tokens', 'At most 50 EUR.', 'Tools offered 2', 'delete_account', 'What refund does.', 'Since the call before']) if (!prompt.includes(words)) fault(`seen: the prompt has no ${words}: ${prompt}`);
  const changes = await page.$$eval('#pane [id^=p-prompt] :is(ins, del)', (all) => all.map((one) => one.textContent).join('|'));
  for (const words of ['200', '50', 'delete_account', '0.2']) if (!changes.includes(words)) fault(`seen: what changed has no ${words}: ${changes}`);
  // The call as a request, without a key.
  const request = await (await fetch(`${serving.api}/api/v1/traces/${traceOf(SEEN)}/steps/0000000000000003/request?api=anthropic`)).text();
  for (const words of ['curl \'https://api.anthropic.com/v1/messages\'', '"system": "At most 50 EUR."', '"input_schema"', '$ANTHROPIC_API_KEY', '"max_tokens": 500']) if (!request.includes(words)) fault(`seen: the request has no ${words}: ${request}`);
  for (const text of faults) fault(`seen: ${text}`);
  await page.close();

  // A picture of a message comes from this server; what is none stays words.
  const shown = await open(browser, `${at}?span=0000000000000004`);
  const pictures = await shown.page.$$eval('#pane [id^=p-overview] .picture img', (all) => Promise.all(all.map(async (one) => { one.loading = 'eager'; await one.decode(); return [new URL(one.src).origin === location.origin, one.naturalWidth].join(); })));
  if (pictures.join(' ') !== 'true,1') fault(`seen: the pictures are ${pictures}`);
  for (const text of shown.faults) fault(`seen: ${text}`);
  await shown.page.close();

  const talk = await open(browser, `${at}/conversation`);
  const user = '.msg.user .txt';
  await talk.page.waitForSelector(`${user}.md`, { timeout: 3000 }).catch(() => fault('seen: Markdown stays as it came'));
  const made = await talk.page.$eval(user, (box) => ({ bold: box.querySelector('strong')?.textContent, code: box.querySelector('pre')?.textContent, cells: [...box.querySelectorAll('td')].map((cell) => cell.textContent).join(), nested: box.querySelector('ol > li ul li')?.textContent, items: box.querySelectorAll('ol > li').length, images: box.querySelectorAll('img, a').length, text: box.textContent }));
  const { bold, code, cells, nested, items, images, text } = made;
  if (bold !== 'bold' || code !== 'first line\n  second' || cells !== '1,2' || nested !== 'nested' || items !== 2) fault(`seen: Markdown became ${JSON.stringify(made)}`);
  if (images || !text.includes('<img src=x onerror=alert(1)>') || !text.includes('(https://elsewhere.example/x)')) fault('seen: text of others became elements');
  const [acts, edit] = await talk.page.$$eval('.act', (all) => [all.map((one) => one.textContent), [...(all[0]?.querySelectorAll('del, ins') ?? [])].map((one) => one.textContent)]);
  if (edit.join('') !== '- b = 2\n+ b = 3\n' || !acts[1]?.includes('$ ls -l | wc')) fault(`seen: an edit and a command are ${JSON.stringify([acts, edit])}`);
  const mono = await talk.page.$eval('.act pre', (pre) => getComputedStyle(pre).fontFamily);
  if (!/mono/i.test(mono)) fault(`seen: an edit is in ${mono}`);
  await talk.page.click('[data-md]');
  await talk.page.waitForFunction((where) => document.querySelector(where).textContent.includes('**bold**'), { timeout: 3000 }, user).catch(() => fault('seen: the switch shows no source'));
  await talk.page.click('[data-md]');
  await talk.page.waitForSelector(`${user}.md strong`, { timeout: 3000 }).catch(() => fault('seen: the switch does not go back'));
  for (const complaint of talk.faults) fault(`seen: ${complaint}`);
  await talk.page.close();
}
