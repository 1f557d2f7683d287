// The outline of a run and what is around it: selection, filters, find, keys, the width of the pane. The page of a server and the
// page in one file give it what they have as `source`.
import { FAILED } from './skeleton.js';
import { Tree } from './tree.js';
import { count, took } from './format.js';
import { tab, times } from './page.js';
import { markdown } from './markdown.js';

/** Draws a run. `source`: `words(rows)`, `pane(row)`, `find(text)` answer with promises; `row(skeleton, id)` finds a step. */
export function control(skeleton, source) {
const $ = (id) => document.getElementById(id), split = $('split'), pane = $('pane'), say = (text) => { $('say').textContent = text; };
const url = new URL(location), keep = () => { if (source.address) history.replaceState(null, '', url); };
const fit = () => { const top = split.getBoundingClientRect().top + scrollY; if (innerWidth > 700) split.style.setProperty('--h', Math.max(360, innerHeight - Math.min(top, innerHeight * .55) - 29) + 'px'); };
fit(); addEventListener('resize', fit);

let wanted = 0;
const tree = new Tree($('rows'), { axis: $('axis'), grid: $('gridl'), map: $('map') }, skeleton, {
  say,
  async previews(rows) {
    // Words for the rows in sight, once scrolling rests; asked for by number, so that ids need not be known.
    const mine = ++wanted; await new Promise((ok) => setTimeout(ok, 60)); if (mine !== wanted) return;
    const missing = [...rows].filter((i) => tree.preview[i] === undefined); if (!missing.length) return;
    const words = await source.words(missing); if (!words) return;
    missing.forEach((i, k) => { tree.preview[i] = words[k] || ''; }); tree.again();
  },
  async select(i) {
    pane.classList.add('busy');
    const made = await source.pane(i); if (tree.current !== i) return;
    if (made) {
      const was = pane.querySelector('[role=tab][aria-selected=true]')?.dataset.tab; made(pane); times(pane); markdown(pane);
      if (was) tab(pane.querySelector(`[data-tab=${was}]`));
      pane.scrollTop = 0; const step = pane.querySelector('header')?.dataset.step; if (step) url.searchParams.set('span', step); keep();
    }
    pane.classList.remove('busy'); tell();
  },
  open() { pane.focus(); },
  // Where the pane is below the outline, it is brought into sight.
  shown() { if (innerWidth <= 700) pane.scrollIntoView(); },
  zoom(from, to) { const all = from <= 0 && to >= tree.s.total; if (all) url.searchParams.delete('t'); else url.searchParams.set('t', `${Math.round(from)}-${Math.round(to)}`); clearTimeout(tree.save); tree.save = setTimeout(keep, 200); sum(); },
});
tree.current = Math.min(Number(split.dataset.row) || 0, Math.max(0, skeleton.n - 1)); tree.reveal(tree.current); tree.lay(); tree.show(tree.current); tree.again();
requestAnimationFrame(() => { performance.mark('rows'); setTimeout(() => { tree.minimap(); performance.mark('usable'); }); });

function sum() {
  const s = tree.s, bad = s.flags.reduce((c, f) => c + (f & FAILED), 0), all = tree.from <= 0 && tree.to >= s.total;
  $('sum').textContent = `${count(s.n)} steps` + (bad ? `, ${count(bad)} failed` : '') + (all ? '' : ` · ${took(tree.to - tree.from)} of ${took(s.total)} in sight`);
}
sum();

// Filters; all of them live in the address.
const off = new Set((url.searchParams.get('off') || '').split(',').filter(Boolean));
let errors = url.searchParams.has('errors'), hits = [], words = '';
function filter(stay) {
  const { s } = tree, test = off.size || errors ? (i) => !off.has(s.families[s.kind[i]]) && (!errors || s.flags[i] & FAILED) : null;
  const c = tree.filter(test, stay); if (test) say(`${count(c)} of ${count(s.n)} steps`);
  if (off.size) url.searchParams.set('off', [...off].join(',')); else url.searchParams.delete('off');
  if (errors) url.searchParams.set('errors', ''); else url.searchParams.delete('errors');
  keep();
}
const press = (b, on) => b.setAttribute('aria-pressed', on);
for (const b of document.querySelectorAll('.kinds button')) { press(b, !off.has(b.dataset.fam)); b.addEventListener('click', () => { const f = b.dataset.fam; if (off.has(f)) off.delete(f); else off.add(f); press(b, !off.has(f)); filter(); }); }
$('b-err').addEventListener('click', () => { errors = !errors; press($('b-err'), errors); filter(); });
const crit = (on) => { press($('b-crit'), on); $('trace').classList.toggle('crit', on); if (on) { const t = tree.s.flags.reduce((c, f) => c + (f >> 3 & 1), 0); say(`${count(t)} steps are on the critical path`); } };
$('b-crit').addEventListener('click', () => crit($('b-crit').getAttribute('aria-pressed') !== 'true'));
$('b-exp').addEventListener('click', () => tree.all(0)); $('b-col').addEventListener('click', () => tree.all(1));

// Find: names here at once; payloads on the server, which answers with row numbers.
let timer = 0, asking = Promise.resolve();
function find(text) {
  words = text.trim().toLowerCase(); hits = []; const { s } = tree;
  tree.hits = words ? new Uint8Array(s.n) : null; tree.words = words; if (!words) globalThis.CSS?.highlights?.delete('find');
  if (words) {
    const inName = new Uint8Array(s.names.length); for (let k = 0; k < s.names.length; k++) if (s.names[k].toLowerCase().includes(words)) inName[k] = 1;
    for (let i = 0; i < s.n; i++) if (inName[s.name[i]] || (tree.preview[i] && tree.preview[i].toLowerCase().includes(words))) { tree.hits[i] = 1; hits.push(i); }
  }
  tree.again(); tell(); asking = inPayloads(words);
}
async function inPayloads(asked) {
  if (asked.length < 2) return;
  const found = await source.find(asked); if (!found || asked !== words) return;
  const { rows, more } = found; for (const i of rows) tree.hits[i] = 1;
  hits = []; for (let i = 0; i < tree.s.n; i++) if (tree.hits[i]) hits.push(i);
  tree.again(); tell(); say(`${count(hits.length)}${more ? ' or more' : ''} steps have "${asked}" in their names or payloads`);
}
const tell = () => { const k = hits.indexOf(tree.current); $('qn').textContent = words ? (hits.length ? `${k < 0 ? '–' : count(k + 1)} of ${count(hits.length)}` : 'none') : ''; };
function next(by) { if (!hits.length) return; let k = hits.findIndex((i) => i >= tree.current); if (k < 0) k = 0; if (by > 0 && hits[k] === tree.current) k++; if (by < 0) k--; tree.select(hits[(k + hits.length) % hits.length]); tell(); }
$('q').addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(() => find($('q').value), 120); });
/** Finds what is in the field, unless it is found already, and goes on when the payloads are looked through. */
function enter(by) { clearTimeout(timer); if ($('q').value.trim().toLowerCase() !== words) find($('q').value); asking.then(() => next(by)); }
$('q').addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); enter(event.shiftKey ? -1 : 1); } if (event.key === 'Escape') { $('q').value = ''; find(''); $('rows').focus(); } });

// Words that were looked for in all runs.
const sought = url.searchParams.get('q'); if (sought) { $('q').value = sought; find(sought.replaceAll('"', '')); }

if (off.size || errors) { press($('b-err'), errors); filter(); }

// Links to other steps, and the width of the pane.
document.addEventListener('click', (event) => { const a = event.target.closest('a[data-step]'); if (a && !event.ctrlKey && !event.metaKey) { const i = source.row(tree.s, a.dataset.step); if (i >= 0) { event.preventDefault(); tree.select(i); $('rows').focus({ preventScroll: true }); } } });
const grip = $('grip'), width = (px) => { const w = Math.round(Math.min(innerWidth - 420, Math.max(280, px))); split.style.setProperty('--pane', w + 'px'); grip.setAttribute('aria-valuenow', w); try { localStorage.setItem('pane', w); } catch { /* no storage: the width is forgotten */ } };
grip.addEventListener('pointerdown', (event) => { grip.setPointerCapture(event.pointerId); grip.onpointermove = (move) => width(innerWidth - move.clientX); });
grip.addEventListener('pointerup', () => { grip.onpointermove = null; });
grip.addEventListener('keydown', (event) => { const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key]; if (by) { event.preventDefault(); width(pane.clientWidth + by); } });
try { const w = Number(localStorage.getItem('pane')); if (w && innerWidth > 1180) width(w); } catch { /* as above */ }

// Keys that work anywhere on the page but in a field.
addEventListener('keydown', (event) => {
  if (event.target.closest('input, select, textarea, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = { f: () => $('q').focus(), c: () => $('b-crit').click(), n: () => next(1), N: () => next(-1), e: () => { $('rows').focus(); tree.key(event); } }[event.key];
  if (key) { event.preventDefault(); key(); }
});
$('rows').addEventListener('focus', tell);
pane.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !event.target.closest('input, select, textarea, details[open]')) $('rows').focus({ preventScroll: true }); });

const zoomed = (url.searchParams.get('t') || '').match(/^(\d+)-(\d+)$/); if (zoomed) tree.zoom(Number(zoomed[1]), Number(zoomed[2]));
/** After more steps came: counts, filters and hits are of them all. */
function newer() {
  const { s } = tree, kinds = new Map(); let bad = 0;
  for (let i = 0; i < s.n; i++) { const family = s.families[s.kind[i]]; kinds.set(family, (kinds.get(family) || 0) + 1); bad += s.flags[i] & FAILED; }
  for (const b of document.querySelectorAll('.kinds button')) { const n = kinds.get(b.dataset.fam) || 0; b.hidden = !n; b.querySelector('.n').textContent = count(n); }
  $('b-err').disabled = !bad; $('b-err').textContent = bad ? `Errors ${count(bad)}` : 'Errors';
  sum(); if (off.size || errors) filter(true); if (words) find($('q').value);
}
return { tree, newer, say };
}
