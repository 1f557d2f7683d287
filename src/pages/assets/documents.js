// The documents of a run: how much each format keeps, which comes when the page is there.
import { elements } from './page.js';

const formats = document.querySelector('[data-counts]');
if (formats) {
  const answer = await fetch(formats.dataset.counts);
  for (const made of answer.ok ? elements(await answer.text()).children : []) {
    const link = [...formats.children].find((one) => one.dataset.format === made.dataset.format); if (!link) continue;
    for (const part of ['span.num', 'small.num']) link.querySelector(part).replaceChildren(...made.querySelector(part).childNodes);
  }
}
