// The pictures of the README, and the words that they show: with UPDATE=1 both are written anew, else the words are compared.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, pause } from './browser.mjs';
import { sendCase, serve } from './serving.mjs';

const RUN = 'ecbab609a0d1a27380b640e7db9cb6ba';
const OTHER = 'e16fcabf0ac56b0dbf134cf730ede791';
const CASES = ['oi-langchain-toolerror', 'oi-langchain-agent', 'adk-agenttool', 'lf-agent', 'made-failures', 'mastra-tools', 'pydantic-ai-tools', 'strands-tools'];
// Name, address, height.
const PICTURES = [
  ['runs', '/', 560], ['run', `/runs/${RUN}`, 620], ['conversation', `/runs/${RUN}/conversation`, 620],
  ['compare', `/compare?a=${RUN}&b=${OTHER}`, 520], ['work', '/work', 520],
];

export async function pictures(browser, program, tests, fault) {
  const folder = join(tests, '../src/docs/pictures'), texts = join(tests, 'browser/pictures'), serving = await serve(program);
  try {
    for (const one of CASES) await sendCase(serving, join(tests, 'corpus', one)).catch((error) => { if (error.code !== 'ENOENT') throw error; });
    for (const [name, path, height] of PICTURES) {
      const { page, faults } = await open(browser, serving.api + path, { width: 1280 });
      await page.setViewport({ width: 1280, height });
      await pause(800);
      // Times are in the zone of the reader, ages depend on the day.
      const words = await page.evaluate(() => document.querySelector('main').innerText.replace(/\d+ (s|min|m|h|d|days?|hours?) ago/g, 'ago').replace(/[ \t]+/g, ' ').trim());
      const file = join(texts, `${name}.txt`);
      if (process.env.UPDATE) {
        for (const one of [folder, texts]) mkdirSync(one, { recursive: true });
        await page.screenshot({ path: join(folder, `${name}.png`) });
        writeFileSync(file, `${words}\n`);
      }
      let before = '';
      try { before = readFileSync(file, 'utf8'); } catch { /* It is not there. */ }
      if (before !== `${words}\n`) fault(`the picture ${name} shows other words now: UPDATE=1 tests/browser/run.sh --only pictures makes it anew`);
      for (const text of faults) fault(`pictures ${name}: ${text}`);
      await page.close();
    }
  } finally {
    await serving.stop();
  }
  return PICTURES.map(([name]) => name).join(', ');
}
