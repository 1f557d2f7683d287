// The timeline page of a run: loads the skeleton, then bodies for what is looked at.
import { grown, read } from './skeleton.js';
import { count } from './format.js';
import { control } from './control.js';
import { refresh } from './head.js';
import { listen } from './live.js';
import { elements } from './page.js';

const split = document.getElementById('split'), trace = split.dataset.trace, api = `/api/v1/traces/${trace}`, live = document.querySelector('.runhead').dataset.live;
// What is asked of an older revision is answered with 409: more spans came.
let outdated = () => location.reload();
const ask = async (path) => { const answer = await fetch(path); if (answer.status === 409) outdated(); return answer.ok ? answer : null; };
// Of a run that goes on, the server sends what is new since the revision that is here.
const loaded = async (old) => { const answer = await ask(`${api}/skeleton${live ? `?since=${old?.head.revision ?? ''}` : ''}`); return answer && grown(read(await answer.arrayBuffer()), old); };

let skeleton = await loaded(); if (!skeleton) throw new Error('there is no skeleton');
const ranges = (rows) => { const out = []; for (const i of rows) { const last = out[out.length - 1]; if (last && last[1] === i - 1) last[1] = i; else out.push([i, i]); } return out.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(','); };
const { tree, newer, say } = control(skeleton, {
  address: true,
  async words(rows) { const answer = await ask(`${api}/rows?rev=${skeleton.head.revision}&rows=${ranges(rows)}`); return answer && answer.json(); },
  async pane(row) { const answer = await ask(`/runs/${trace}/pane/${row}?rev=${skeleton.head.revision}`), text = answer && await answer.text(); return text && ((pane) => pane.replaceChildren(elements(text))); },
  async find(words) { const answer = await ask(`${api}/find?rev=${skeleton.head.revision}&q=${encodeURIComponent(words)}`); return answer && answer.json(); },
  row: (s, id) => s.rowOf(id),
});

// A run that goes on: what is new in its skeleton is read when something came, and the rows in sight stay where they are. The next time
// waits longer than the last one took.
if (live) {
  let timer = 0, least = 200;
  const again = async () => {
    const began = performance.now(), next = await loaded(skeleton); timer = 0; if (!next || next.head.revision === skeleton.head.revision) return;
    skeleton = next; tree.follow(next); newer(); tree.minimap(); await refresh();
    least = Math.max(200, 4 * (performance.now() - began));
    say(skeleton.running ? `${count(skeleton.n)} steps so far` : 'The run has ended');
  };
  const later = (wait = least) => { if (!timer) timer = setTimeout(again, wait); };
  outdated = () => later();
  listen(`?trace=${trace}`, { changed: () => later(), lost: () => later(1000), state(word) { document.getElementById('sum').title = word === 'on' ? 'live' : 'not live'; } });
}
