// A run's skeleton: columns in outline order, read in place. The format is described in src/pages/skeleton.rs.
export const FAILED = 1, RUNNING = 2, DERIVED = 4, CRITICAL = 8, FOUND = 16, PENDING = 32;
export const NONE = 0xffffffff;
const hex = (b) => b.toString(16).padStart(2, '0');

/** The columns of a skeleton, or of what is new in one. */
export function read(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x53425331) throw new Error('not a skeleton');
  const headLength = view.getUint32(4, true), text = new TextDecoder();
  const head = JSON.parse(text.decode(new Uint8Array(buffer, 8, headLength)));
  const n = head.rows, base = 8 + headLength, at = head.at;
  const s = {
    head, n, total: head.nanos, t0: BigInt(head.start_unix_nano), kinds: head.kinds, families: head.families, running: head.running,
    start: new Float64Array(buffer, base + at.start, n), dur: new Float64Array(buffer, base + at.dur, n),
    cost: new Float32Array(buffer, base + at.cost, n),
    name: new Uint32Array(buffer, base + at.name, n), tin: new Uint32Array(buffer, base + at.tin, n), tout: new Uint32Array(buffer, base + at.tout, n),
    depth: new Uint16Array(buffer, base + at.depth, n), kind: new Uint8Array(buffer, base + at.kind, n), flags: new Uint8Array(buffer, base + at.flags, n),
    ids: new Uint8Array(buffer, base + at.id, 8 * n),
    names: text.decode(new Uint8Array(buffer, base + at.names, head.names)).split('\n'),
  };
  return head.copied ? s : joined(s);
}

/** A skeleton with what is new in it: rows that stay are copied from the `old` one. */
export function grown(part, old) {
  const { copied, all } = part.head; if (!copied) return part;
  // Each column with the numbers that a row has in it.
  const n = all, widths = { start: 1, dur: 1, cost: 1, name: 1, tin: 1, tout: 1, depth: 1, kind: 1, flags: 1, ids: 8 }, s = { ...part, n };
  const known = new Map(old.names.map((name, k) => [name, k])); s.names = [...old.names];
  const named = Uint32Array.from(part.name, (k) => { const name = part.names[k]; if (!known.has(name)) { known.set(name, s.names.length); s.names.push(name); } return known.get(name); });
  for (const [column, width] of Object.entries(widths)) {
    const from = column === 'name' ? named : part[column], to = s[column] = new part[column].constructor(n * width);
    let next = 0, at = 0;
    const fresh = (until) => { to.set(from.subarray(next * width, (next + until - at) * width), at * width); next += until - at; };
    for (const [first, rows, place] of copied) { fresh(place); to.set(old[column].subarray(first * width, (first + rows) * width), place * width); at = place + rows; }
    fresh(n);
  }
  return joined(s);
}

/** With what follows from the columns. */
function joined(s) {
  const { n } = s;
  // Outline order and depth are the tree: the row after a subtree, the parent, the place among siblings.
  const end = s.end = new Uint32Array(n), parent = s.parent = new Int32Array(n), pos = s.pos = new Uint32Array(n), kids = s.kids = new Uint32Array(n), open = [];
  let roots = 0;
  for (let i = 0; i < n; i++) {
    const d = s.depth[i];
    while (open.length > d) end[open.pop()] = i;
    const p = open.length ? open[open.length - 1] : -1;
    parent[i] = p; pos[i] = p < 0 ? ++roots : ++kids[p];
    open.push(i);
  }
  while (open.length) end[open.pop()] = n;
  s.roots = roots;
  s.idOf = (i) => { let o = ''; for (let k = 8 * i; k < 8 * i + 8; k++) o += hex(s.ids[k]); return o; };
  s.rowOf = (id) => {
    if (!/^[0-9a-f]{16}$/.test(id)) return -1;
    const want = new Uint8Array(8).map((_, k) => parseInt(id.slice(2 * k, 2 * k + 2), 16));
    next: for (let i = 0; i < n; i++) { for (let k = 0; k < 8; k++) if (s.ids[8 * i + k] !== want[k]) continue next; return i; }
    return -1;
  };
  s.nameOf = (i) => s.names[s.name[i]];
  return s;
}
