// The timeline page of a run: loads the skeleton, then bodies for what is looked at.
import { read } from './skeleton.js';
import { count } from './format.js';
import { control } from './control.js';
import { listen } from './live.js';

const split = document.getElementById('split'), trace = split.dataset.trace, api = `/api/v1/traces/${trace}`;
// What this server makes of its own templates is the only text that becomes elements.
const policy = globalThis.trustedTypes?.createPolicy('spanbridge', { createHTML: (text) => text }) ?? { createHTML: (text) => text };
// What is asked of an older revision is answered with 409: more spans came.
let outdated = () => location.reload();
const ask = async (path) => { const answer = await fetch(path); if (answer.status === 409) outdated(); return answer.ok ? answer : null; };
const loaded = async () => { const answer = await ask(`${api}/skeleton`); return answer && read(await answer.arrayBuffer()); };

let skeleton = await loaded(); if (!skeleton) throw new Error('there is no skeleton');
const ranges = (rows) => { const out = []; for (const i of rows) { const last = out[out.length - 1]; if (last && last[1] === i - 1) last[1] = i; else out.push([i, i]); } return out.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(','); };
const { tree, sum, say } = control(skeleton, {
  address: true,
  async words(rows) { const answer = await ask(`${api}/rows?rev=${skeleton.head.revision}&rows=${ranges(rows)}`); return answer && answer.json(); },
  async pane(row) { const answer = await ask(`/runs/${trace}/pane/${row}?rev=${skeleton.head.revision}`), text = answer && await answer.text(); return text && ((pane) => { pane.innerHTML = policy.createHTML(text); }); },
  async find(words) { const answer = await ask(`${api}/find?rev=${skeleton.head.revision}&q=${encodeURIComponent(words)}`); return answer && answer.json(); },
  row: (s, id) => s.rowOf(id),
});

// A run that goes on: its skeleton is read again when something came, and the rows in sight stay where they are.
if (split.dataset.live) {
  let timer = 0;
  const again = async () => {
    timer = 0; const newer = await loaded(); if (!newer || newer.head.revision === skeleton.head.revision) return;
    skeleton = newer; tree.follow(newer); sum(); tree.minimap();
    say(skeleton.running ? `${count(skeleton.n)} steps so far` : 'The run has ended');
  };
  const later = (wait = 200) => { if (!timer) timer = setTimeout(again, wait); };
  outdated = () => later();
  listen(`?trace=${trace}`, { changed: () => later(), lost: () => later(1000), state(word) { document.getElementById('sum').title = word === 'on' ? 'live' : 'not live'; } });
}
