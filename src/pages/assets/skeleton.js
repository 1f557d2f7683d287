// A run's skeleton: columns in outline order, read in place. The format is described in src/pages/skeleton.rs.
export const FAILED = 1, RUNNING = 2, DERIVED = 4, CRITICAL = 8, FOUND = 16, PENDING = 32;
export const NONE = 0xffffffff;
const hex = (b) => b.toString(16).padStart(2, '0');

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
