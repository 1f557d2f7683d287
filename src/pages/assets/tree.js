// The outline with its waterfall: a treegrid of which only the rows in sight are in the page.
import { FAILED, RUNNING, DERIVED, CRITICAL, PENDING, NONE } from './skeleton.js';
import { took, short, count, step } from './format.js';

const SPARE = 8, MAX_HEIGHT = 16e6, DEEP = 24;
const el = (tag, cls, role) => { const x = document.createElement(tag); if (cls) x.className = cls; if (role) x.setAttribute('role', role); return x; };
const svg = (tag, at) => { const x = document.createElementNS('http://www.w3.org/2000/svg', tag); for (const k in at) x.setAttribute(k, at[k]); return x; };

export class Tree {
  /** `box` scrolls; `on` is told of `select(row)`, `previews(rows)`, `say(text)`. */
  constructor(box, parts, skeleton, on) {
    Object.assign(this, { box, parts, s: skeleton, on });
    const n = skeleton.n;
    this.shut = new Uint8Array(n); this.keep = null; this.hits = null; this.preview = {};
    this.rows = new Uint32Array(n); this.count = 0; this.place = new Int32Array(n).fill(-1);
    this.current = 0; this.from = 0; this.to = skeleton.total; this.pool = [];
    this.size = el('div', 'size'); box.replaceChildren(this.size); this.deepest();
    box.setAttribute('role', 'treegrid'); box.setAttribute('aria-label', 'Steps of the run'); box.setAttribute('aria-colcount', 4); box.tabIndex = 0;
    this.rowHeight = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 24;
    box.addEventListener('scroll', () => this.later(), { passive: true });
    box.addEventListener('click', (event) => this.click(event));
    box.addEventListener('keydown', (event) => this.key(event));
    box.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => { this.axis(); this.draw(); this.minimap(); }).observe(box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.minimap());
    this.mapEvents(); this.lay();
  }
  /** The indentation shrinks where rows are deep, so that it leaves most of its column to the names. */
  deepest() { let deep = 1; for (const depth of this.s.depth) if (depth > deep) deep = depth; this.box.style.setProperty('--deep', Math.min(deep, DEEP)); }
  /** Which rows are shown: a filter keeps rows and their ancestors, a shut row hides what is below. */
  lay() {
    const { s, shut, keep, rows, place } = this; let c = 0;
    place.fill(-1);
    for (let i = 0; i < s.n;) {
      if (keep && !keep[i]) { i++; continue; }
      place[i] = c; rows[c++] = i;
      i = shut[i] ? s.end[i] : i + 1;
    }
    this.count = c;
    const height = c * this.rowHeight;
    this.scale = height > MAX_HEIGHT ? height / MAX_HEIGHT : 1;
    this.size.style.height = Math.min(height, MAX_HEIGHT) + 'px';
    this.box.setAttribute('aria-rowcount', c);
    for (const row of this.pool) row.index = -1;
    this.draw();
  }
  /** Another skeleton of the same run, with more steps: folds, the selection and the rows in sight stay. */
  follow(next) {
    const { s, box } = this, first = Math.floor(box.scrollTop * this.scale / this.rowHeight), rest = box.scrollTop - first * this.rowHeight / this.scale, top = this.count ? s.idOf(this.rows[Math.min(first, this.count - 1)]) : null, chosen = s.n ? s.idOf(this.current) : null, all = this.from <= 0 && this.to >= s.total;
    const shut = new Set(); for (let i = 0; i < s.n; i++) if (this.shut[i]) shut.add(s.idOf(i));
    const n = next.n; this.s = next; this.shut = new Uint8Array(n); this.keep = null; this.hits = null; this.preview = {};
    this.rows = new Uint32Array(n); this.place = new Int32Array(n).fill(-1);
    if (shut.size) for (let i = 0; i < n; i++) if (shut.has(next.idOf(i))) this.shut[i] = 1;
    this.current = Math.max(0, chosen === null ? 0 : next.rowOf(chosen)); if (all) { this.from = 0; this.to = next.total; }
    this.asked = -1; this.deepest(); this.lay();
    const at = top === null ? -1 : next.rowOf(top); if (first > 0 && at >= 0 && this.place[at] >= 0) box.scrollTop = this.place[at] * this.rowHeight / this.scale + rest;
    this.axis();
  }
  later() { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); }); }
  draw() {
    const { box, pool, rowHeight } = this, tall = box.clientHeight, top = box.scrollTop;
    const first = Math.max(0, Math.floor(top * this.scale / rowHeight) - SPARE);
    const need = Math.min(this.count - first, Math.ceil(tall / rowHeight) + 2 * SPARE);
    const size = Math.ceil(tall / rowHeight) + 2 * SPARE;
    while (pool.length < size) { const row = this.make(); pool.push(row); this.size.append(row.el); }
    for (let k = 0; k < pool.length; k++) {
      // A row keeps its element while it is in sight: element of row v is v modulo the pool.
      const v = first + ((k - first) % pool.length + pool.length) % pool.length, row = pool[k];
      if (v >= first + need || v >= this.count) { if (row.index !== -2) { row.el.hidden = true; row.index = -2; } continue; }
      const y = this.scale === 1 ? v * rowHeight : top + v * rowHeight - top * this.scale;
      if (row.index !== v || row.y !== y || row.stamp !== this.stamp) this.fill(row, v, y);
    }
    if (need > 0 && first !== this.asked) { this.asked = first; this.on.previews(this.rows.subarray(first, first + need)); }
    if (this.words) this.highlight();
    const cur = this.place[this.current];
    this.box.setAttribute('aria-activedescendant', cur >= 0 ? 'row' + this.current : '');
  }
  make() {
    const r = el('div', 'r', 'row'), l = el('div', 'l'), name = el('span', 'n', 'gridcell'), tw = el('i', 'tw'), kind = el('b', 'kd'), nm = el('span', 'nm'), pv = el('span', 'pv'), tok = el('span', 'tok', 'gridcell'), dur = el('span', 'dur', 'gridcell'), w = el('div', 'w'), bar = el('i', 'bar');
    l.setAttribute('role', 'presentation'); w.setAttribute('aria-hidden', 'true');
    name.append(tw, kind, nm, pv); l.append(name, tok, dur); w.append(bar); r.append(l, w);
    return { el: r, w, name, tw, kind, nm, pv, tok, dur, bar, index: -1, y: -1 };
  }
  fill(row, v, y) {
    const { s } = this, i = this.rows[v], f = s.flags[i], r = row.el, family = s.families[s.kind[i]], box = s.end[i] > i + 1;
    row.index = v; row.y = y; row.stamp = this.stamp; row.i = i;
    r.hidden = false; r.id = 'row' + i; r.style.transform = `translateY(${y}px)`;
    r.className = 'r k-' + family + (box ? ' box' : '') + (f & FAILED ? ' err' : '') + (f & RUNNING ? ' run' : '') + (f & DERIVED ? ' der' : '') + (f & PENDING ? ' pend' : '') + (f & CRITICAL ? ' on' : '') + (i === this.current ? ' cur' : '') + (this.keep && this.keep[i] === 1 ? ' anc' : '') + (this.hits && this.hits[i] ? ' hit' : '');
    r.setAttribute('aria-rowindex', v + 1); r.setAttribute('aria-level', s.depth[i] + 1); r.setAttribute('aria-posinset', s.pos[i]); r.setAttribute('aria-setsize', s.parent[i] < 0 ? s.roots : s.kids[s.parent[i]]);
    r.setAttribute('aria-selected', i === this.current);
    if (box) r.setAttribute('aria-expanded', !this.shut[i]); else r.removeAttribute('aria-expanded');
    row.name.style.setProperty('--d', Math.min(s.depth[i], DEEP));
    row.kind.textContent = s.kinds[s.kind[i]].replace('_', ' '); row.nm.textContent = s.nameOf(i);
    row.pv.textContent = this.shut[i] ? `${count(s.end[i] - i - 1)} steps below` : this.preview[i] || '';
    row.tok.textContent = s.tin[i] === NONE ? '' : `${short(s.tin[i])} → ${s.tout[i] === NONE ? '' : short(s.tout[i])}`;
    row.dur.textContent = f & RUNNING ? 'running' : took(s.dur[i]);
    const dur = f & RUNNING ? Math.max(0, s.total - s.start[i]) : s.dur[i];
    const span = this.to - this.from || 1, wide = this.wide || 400;
    const a = Math.max(-4, (s.start[i] - this.from) / span * wide), b = Math.min(wide + 4, (s.start[i] + dur - this.from) / span * wide);
    row.bar.style.transform = `translateX(${a.toFixed(1)}px)`; row.bar.style.width = Math.max(2, b - a).toFixed(1) + 'px'; row.bar.hidden = b < 0 || a > wide;
  }
  /** Marks the found words in the rows in sight: as ranges, which cost no elements. */
  highlight() {
    if (!globalThis.CSS?.highlights) return; const ranges = [];
    for (const row of this.pool) if (row.index >= 0) for (const node of [row.nm.firstChild, row.pv.firstChild]) {
      if (!node) continue; const text = node.data.toLowerCase();
      for (let at = text.indexOf(this.words); at >= 0; at = text.indexOf(this.words, at + 1)) { const range = new Range(); range.setStart(node, at); range.setEnd(node, at + this.words.length); ranges.push(range); }
    }
    if (ranges.length) CSS.highlights.set('find', new Highlight(...ranges)); else CSS.highlights.delete('find');
  }
  again() { this.stamp = (this.stamp || 0) + 1; this.draw(); }
  axis() {
    const w = this.parts.axis.getBoundingClientRect().width || this.box.clientWidth * .54, span = this.to - this.from; this.wide = this.pool[0]?.w.clientWidth || this.parts.grid.getBoundingClientRect().width || w;
    const by = step(span, Math.max(2, Math.floor(this.wide / 96))), marks = [], lines = [];
    for (let t = Math.ceil(this.from / by) * by; t <= this.to; t += by) {
      const x = (t - this.from) / span * this.wide; if (x > this.wide - 30 && x !== 0) { if (x <= this.wide) lines.push(x); continue; }
      const text = svg('text', { x: x + 3, y: 16 }); text.textContent = t === 0 ? '0' : took(t); marks.push(text); lines.push(x);
    }
    this.parts.axis.replaceChildren(...marks);
    this.parts.grid.replaceChildren(...lines.map((x) => svg('line', { x1: x + .5, x2: x + .5, y1: 0, y2: '100%', stroke: 'var(--line)' })));
    this.again();
  }
  zoom(from, to) {
    const total = this.s.total, least = Math.max(10, total / 1e7); if (to - from < least) { const m = (from + to) / 2; from = m - least / 2; to = m + least / 2; }
    this.from = Math.max(0, from); this.to = Math.min(total, to);
    this.axis(); this.brush(); this.on.zoom?.(this.from, this.to);
  }
  brush() {
    const b = this.parts.map.querySelector('.brush'), total = this.s.total, all = this.from <= 0 && this.to >= total;
    b.hidden = all; b.style.left = 100 * this.from / total + '%'; b.style.width = 100 * (this.to - this.from) / total + '%';
  }
  /** The whole run in 40 pixels: a column of pixels takes the kinds that are at work then, deepest last. */
  minimap() {
    const canvas = this.parts.map.querySelector('canvas'), { s } = this, w = canvas.clientWidth, h = canvas.clientHeight, px = devicePixelRatio || 1; if (!w) return;
    canvas.width = w * px; canvas.height = h * px;
    const g = canvas.getContext('2d'), css = getComputedStyle(document.documentElement), colour = s.families.map((f) => css.getPropertyValue('--k-' + f).trim()), bad = css.getPropertyValue('--bad').trim();
    g.scale(px, px); let deep = 1; for (let i = 0; i < s.n; i++) if (s.depth[i] > deep) deep = s.depth[i];
    const lane = Math.max(1.5, Math.min(5, (h - 6) / (deep + 1))), paths = new Map(), fails = new Path2D(), last = new Map();
    for (let i = 0; i < s.n; i++) {
      const x = s.start[i] / s.total * w, wd = Math.max(.7, (s.flags[i] & RUNNING ? s.total - s.start[i] : s.dur[i]) / s.total * w), y = 3 + Math.min(h - 6, s.depth[i] * lane), k = s.kind[i], key = k * 64 + Math.min(63, s.depth[i]);
      if (s.flags[i] & FAILED) { fails.rect(x, y + lane / 2, Math.max(1.5, wd), Math.max(1.5, lane / 2)); }
      const edge = last.get(key); if (edge !== undefined && x + wd <= edge) continue; last.set(key, Math.max(edge || 0, Math.ceil(x + wd)));
      let p = paths.get(k); if (!p) paths.set(k, p = new Path2D()); p.rect(x, y, wd, Math.max(1, lane - .7));
    }
    for (const [k, p] of paths) { g.globalAlpha = s.families[k] === 'other' ? .35 : .8; g.fillStyle = colour[k]; g.fill(p); }
    g.globalAlpha = 1; g.fillStyle = bad; g.fill(fails);
    this.brush();
  }
  mapEvents() {
    const map = this.parts.map; let a = null; const at = (event) => { const r = map.getBoundingClientRect(); return Math.min(1, Math.max(0, (event.clientX - r.left) / r.width)) * this.s.total; };
    map.addEventListener('pointerdown', (event) => { a = at(event); map.setPointerCapture(event.pointerId); });
    map.addEventListener('pointermove', (event) => { if (a !== null) { const b = at(event); if (Math.abs(b - a) > this.s.total / 200) this.zoom(Math.min(a, b), Math.max(a, b)); } });
    map.addEventListener('pointerup', (event) => { if (a !== null && Math.abs(at(event) - a) <= this.s.total / 200) this.zoom(0, this.s.total); a = null; });
  }
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; event.preventDefault();
    const r = this.parts.grid.getBoundingClientRect(), at = this.from + (this.to - this.from) * Math.min(1, Math.max(0, (event.clientX - r.left) / r.width)), k = Math.exp(event.deltaY / 300);
    this.zoom(at - (at - this.from) * k, at + (this.to - at) * k);
  }
  click(event) {
    const r = event.target.closest('.r'); if (!r) return; const row = this.pool.find((x) => x.el === r); if (!row) return;
    if (event.target === row.tw && this.s.end[row.i] > row.i + 1) this.toggle(row.i); else { this.select(row.i); this.on.shown?.(); }
  }
  toggle(i, shut = !this.shut[i]) { if (this.s.end[i] > i + 1) { this.shut[i] = shut; this.lay(); } }
  all(shut) { const { s } = this; for (let i = 0; i < s.n; i++) this.shut[i] = shut && s.end[i] > i + 1 && s.depth[i] > 0 ? 1 : 0; this.reveal(this.current); this.lay(); this.on.say(shut ? `Collapsed: ${count(this.count)} rows` : `Expanded: ${count(this.count)} rows`); }
  reveal(i) { for (let p = this.s.parent[i]; p >= 0; p = this.s.parent[p]) this.shut[p] = 0; }
  select(i, quiet) {
    if (i < 0 || i >= this.s.n) return; this.current = i;
    if (this.place[i] < 0) { this.reveal(i); this.lay(); }
    this.show(i); this.again(); if (!quiet) this.on.select(i);
  }
  show(i) {
    const y = this.place[i] * this.rowHeight / this.scale, { box } = this, h = this.rowHeight; if (this.place[i] < 0) return;
    if (y < box.scrollTop) box.scrollTop = y - h; else if (y + h > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * h - box.clientHeight;
  }
  step(by) { const v = Math.min(this.count - 1, Math.max(0, this.place[this.current] + by)); this.select(this.rows[v]); }
  nextWith(test, by) { const { s } = this; for (let k = 1; k <= s.n; k++) { const i = ((this.current + by * k) % s.n + s.n) % s.n; if (test(i)) { this.select(i); return true; } } return false; }
  /** Keeps the rows of which `test` is true, and their ancestors; `null` keeps all. */
  filter(test, stay) {
    const { s } = this; this.keep = null; let c = 0;
    if (test) { const keep = new Uint8Array(s.n); for (let i = 0; i < s.n; i++) if (test(i)) { c++; keep[i] = 2; for (let p = s.parent[i]; p >= 0 && !keep[p]; p = s.parent[p]) keep[p] = 1; } this.keep = keep; }
    if (!stay) this.box.scrollTop = 0;
    this.lay(); if (!stay) this.show(this.current); return c;
  }
  key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const { s } = this, i = this.current, page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1), mid = s.start[i] + (s.dur[i] || 0) / 2, half = (this.to - this.from) / 2;
    const at = Math.min(this.to, Math.max(this.from, mid));
    switch (event.key) {
      case 'ArrowDown': case 'j': this.step(1); break;
      case 'ArrowUp': case 'k': this.step(-1); break;
      case 'PageDown': this.step(page); break; case 'PageUp': this.step(-page); break;
      case 'Home': this.select(this.rows[0]); break; case 'End': this.select(this.rows[this.count - 1]); break;
      case 'ArrowRight': case 'l': if (this.shut[i]) this.toggle(i, 0); else if (s.end[i] > i + 1) this.step(1); break;
      case 'ArrowLeft': case 'h': if (!this.shut[i] && s.end[i] > i + 1) this.toggle(i, 1); else if (s.parent[i] >= 0) this.select(s.parent[i]); break;
      case ' ': this.toggle(i); break;
      case '*': { const p = s.parent[i]; for (let k = p < 0 ? 0 : p + 1; k < (p < 0 ? s.n : s.end[p]); k = s.end[k]) this.shut[k] = 0; this.lay(); break; }
      case 'e': if (!this.nextWith((k) => s.flags[k] & FAILED, 1)) this.on.say('No failed step'); break;
      case 'E': this.nextWith((k) => s.flags[k] & FAILED, -1); break;
      case '+': case '=': this.zoom(at - half / 2, at + half / 2); break;
      case '-': this.zoom(at - half * 2, at + half * 2); break;
      case '0': this.zoom(0, s.total); break;
      case 'z': this.zoom(s.start[i] - (s.dur[i] || 0) * .05, s.start[i] + (s.dur[i] || s.total) * 1.05); break;
      case 'Enter': this.on.open(); break;
      default: return;
    }
    event.preventDefault(); event.stopPropagation();
  }
}
