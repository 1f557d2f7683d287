// A run in one file: the skeleton and the steps are in the page.
import { read } from './skeleton.js';
import { control } from './control.js';

const packed = document.getElementById('skeleton');
if (packed) {
  const words = [...document.querySelectorAll('#rows .pv')].map((cell) => cell.textContent);
  const steps = new Map([...document.getElementById('steps').children].map((one) => [Number(one.dataset.row), one])), ids = new Map([...steps].map(([row, one]) => [one.querySelector('header').dataset.step, row]));
  let shown = -1; document.body.classList.add('scripted');
  // What a model call was given and answered is in the conversation, and is copied from there.
  const turn = (step) => document.getElementById(step.querySelector('a[data-turn]')?.dataset.turn ?? '');
  const show = (pane, row) => {
    pane.querySelector('.copied')?.remove(); if (shown >= 0) steps.get(shown).replaceChildren(...pane.childNodes);
    pane.replaceChildren(...steps.get(row).childNodes); shown = row;
    const said = turn(pane); if (!said) return;
    const copy = document.createElement('div'); copy.className = 'turn copied'; copy.append(...[...said.children].slice(1).map((one) => one.cloneNode(true))); pane.querySelector('a[data-turn]').after(copy);
  };
  const none = (pane) => { pane.querySelector('.copied')?.remove(); if (shown >= 0) steps.get(shown).replaceChildren(...pane.childNodes); shown = -1; pane.textContent = 'This file does not have the details of this step.'; };
  const text = (row) => { const step = row === shown ? document.getElementById('pane') : steps.get(row); return (step.textContent + (turn(step)?.textContent ?? '')).toLowerCase(); };
  const { tree } = control(read(Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0)).buffer), {
    address: false,
    words: async (rows) => rows.map((row) => words[row] ?? ''),
    pane: async (row) => (steps.has(row) ? (pane) => show(pane, row) : none),
    find: async (wanted) => ({ rows: [...steps.keys()].filter((row) => text(row).includes(wanted)), more: false }),
    row: (s, id) => ids.get(id) ?? -1,
  });
  tree.select(tree.current);
}
