// A run in one file: the skeleton and the steps are in the page.
import { read } from './skeleton.js';
import { control } from './control.js';

const packed = document.getElementById('skeleton');
if (packed) {
  const words = [...document.querySelectorAll('#rows .pv')].map((cell) => cell.textContent);
  const steps = [...document.getElementById('steps').children], ids = new Map(steps.map((one, row) => [one.querySelector('header').dataset.step, row]));
  let shown = -1; document.body.classList.add('scripted');
  const show = (pane, row) => { if (shown >= 0) steps[shown].replaceChildren(...pane.childNodes); pane.replaceChildren(...steps[row].childNodes); shown = row; };
  const { tree } = control(read(Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0)).buffer), {
    address: false,
    words: async (rows) => rows.map((row) => words[row]),
    pane: async (row) => steps[row] && ((pane) => show(pane, row)),
    find: async (text) => ({ rows: steps.flatMap((one, row) => ((row === shown ? document.getElementById('pane') : one).textContent.toLowerCase().includes(text) ? [row] : [])), more: false }),
    row: (s, id) => ids.get(id) ?? -1,
  });
  tree.select(tree.current);
}
