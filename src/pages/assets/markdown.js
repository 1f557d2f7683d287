// Markdown in messages, made into elements of which every word is text: no address in it is loaded, or even a link. What is not Markdown,
// and what would make the page too large, stays as it came. A switch shows the source of all.
const ELEMENTS = 2900, LONGEST = 40000;
const LOOKS = /(^|\n) {0,3}(#{1,6} \S|```|~~~|[-*+] \S|\d+[.)] \S|> \S|\|.+\|\s*\n *\|?[ :|-]+\|)|\*\*[^*\n]+\*\*|`[^`\n]+`/;
const sources = new WeakMap();
const made = (tag, cls, ...inside) => { const x = document.createElement(tag); if (cls) x.className = cls; x.append(...inside); return x; };
const wanted = () => { try { return localStorage.getItem('source') !== '1'; } catch { return true; } };

/** Code, strong and emphasized words; the address of a link follows its words. */
function inline(text, into) {
  const parts = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|(?<![\w*])\*(\S(?:[^*\n]*?\S)?)\*(?![\w*])|(?<!\w)_(\S(?:[^_\n]*?\S)?)_(?!\w)|!?\[([^\]\n]+)\]\(([^()\s]+)\)/g;
  let at = 0;
  for (const found of text.matchAll(parts)) {
    into.append(text.slice(at, found.index)); at = found.index + found[0].length;
    const [, , code, strong, starred, scored, words, address] = found, emphasized = starred ?? scored;
    if (code !== undefined) into.append(made('code', '', code.trim()));
    else if (strong !== undefined) into.append(inline(strong, made('strong')));
    else if (emphasized !== undefined) into.append(inline(emphasized, made('em')));
    else into.append(words, ' ', made('span', 'faint', `(${address})`));
  }
  into.append(text.slice(at)); return into;
}
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));

/** The blocks of a text. */
export function blocks(source) {
  const lines = source.split('\n'), out = document.createDocumentFragment(); let k = 0, open = [];
  const rest = (test) => { const from = k; while (k < lines.length && test(lines[k])) k++; return lines.slice(from, k); };
  while (k < lines.length) {
    const line = lines[k], fence = line.match(/^ {0,3}(```+|~~~+)/), item = line.match(/^( *)([-*+]|\d+[.)]) +(.*)$/), heading = line.match(/^ {0,3}(#{1,6}) +(.*?)#*$/);
    if (fence) {
      k++; const code = rest((one) => !one.trimStart().startsWith(fence[1])); k++; open = [];
      out.append(made('pre', '', made('code', '', code.join('\n'))));
    } else if (item) {
      k++; const deep = item[1].length, kind = /\d/.test(item[2]) ? 'ol' : 'ul';
      while (open.length && open[open.length - 1].deep > deep) open.pop();
      let list = open[open.length - 1];
      if (!list || list.deep < deep || list.of.localName !== kind) {
        const of = made(kind); if (kind === 'ol') of.start = parseInt(item[2]);
        const above = list && list.deep < deep ? list.of.lastElementChild : null; if (list && list.deep === deep) open.pop();
        (above || out).append(of); open.push(list = { deep, of });
      }
      const more = rest((one) => /^\s{2,}\S/.test(one) && !/^\s*([-*+]|\d+[.)]) /.test(one) && !/^\s*(```|~~~)/.test(one)).map((one) => one.trim());
      list.of.append(inline([item[3], ...more].join('\n'), made('li')));
    } else if (!line.trim()) { k++; if (!/^ +\S/.test(lines[k] ?? '')) open = []; } else {
      open = [];
      if (heading) { k++; out.append(inline(heading[2], made('p', `mdh h${heading[1].length}`))); }
      else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) { k++; out.append(made('hr')); }
      else if (/^ {0,3}>/.test(line)) out.append(inline(rest((one) => /^ {0,3}>/.test(one)).map((one) => one.replace(/^ *> ?/, '')).join('\n'), made('blockquote')));
      else if (line.includes('|') && /^ *\|?[ :|-]*-[ :|-]*$/.test(lines[k + 1] ?? '') && (lines[k + 1] ?? '').includes('|')) {
        const head = cells(line); k += 2;
        const row = (tag, of) => made('tr', '', ...head.map((_, at) => inline(of[at] ?? '', made(tag))));
        out.append(made('div', 'mdt', made('table', '', made('thead', '', row('th', head)), made('tbody', '', ...rest((one) => one.includes('|')).map((one) => row('td', cells(one)))))));
      } else out.append(inline(rest((one) => one.trim() && !/^ {0,3}(#{1,6} |```|~~~|>|[-*+] |\d+[.)] )/.test(one)).join('\n') || lines[k++], made('p')));
    }
  }
  return out;
}

function shape(box) {
  if (sources.has(box) || box.classList.contains('md')) return;
  const source = box.textContent; if (source.length > LONGEST || !LOOKS.test(source)) return;
  const all = blocks(source);
  if (!document.body.classList.contains('file') && document.getElementsByTagName('*').length + all.querySelectorAll('*').length > ELEMENTS) return;
  sources.set(box, source); box.classList.add('md'); box.replaceChildren(all);
}
const seen = new IntersectionObserver((all) => { for (const one of all) if (one.isIntersecting) { seen.unobserve(one.target); if (wanted()) shape(one.target); } });
/** Messages become Markdown as they come into sight. */
export function markdown(root = document) {
  for (const box of root.querySelectorAll('.msg:is(.assistant, .user, .system) .txt:not(.md, .mono)')) if (!box.closest('summary')) seen.observe(box);
  for (const b of document.querySelectorAll('[data-md]')) b.setAttribute('aria-pressed', !wanted());
}
document.addEventListener('click', (event) => {
  if (!event.target.closest('[data-md]')) return;
  try { localStorage.setItem('source', wanted() ? '1' : '0'); } catch { return; }
  if (!wanted()) for (const box of document.querySelectorAll('.txt.md')) { const source = sources.get(box); if (source !== undefined) { box.classList.remove('md'); box.replaceChildren(source); sources.delete(box); } }
  markdown();
});
markdown();
