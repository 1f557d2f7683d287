// The head of a run that goes on: it comes anew with each revision. On the timeline run.js asks for it; the other views, which stay as
// they are, tell how many steps are newer than they are.
import { elements, times } from './page.js';
import { count } from './format.js';
import { listen } from './live.js';

const head = () => document.querySelector('.runhead');
let waits = 0;

/** Loads the head; answers with how many steps the run has now. */
export async function refresh() {
  clearTimeout(waits);
  const old = head(), answer = await fetch(`/runs/${old.dataset.trace}/head?tab=${old.dataset.tab}`); if (!answer.ok) return 0;
  const fresh = elements(await answer.text()).querySelector('.runhead'); if (!fresh) return 0;
  // What is open or has the focus stays until it is left.
  if (old.querySelector('details[open]') || old.contains(document.activeElement)) { waits = setTimeout(refresh, 1000); return 0; }
  if (fresh.dataset.revision !== old.dataset.revision) { times(fresh); old.replaceWith(fresh); dispatchEvent(new Event('resize')); }
  return Number(fresh.dataset.steps);
}

if (head().dataset.live && !document.getElementById('split')) {
  const seen = Number(head().dataset.steps), note = document.createElement('p'); note.className = 'newer'; note.setAttribute('role', 'status'); head().after(note);
  const again = async () => {
    timer = 0; const newer = await refresh() - seen; if (newer <= 0) return;
    const link = document.createElement('a'); link.href = location.href; link.textContent = 'Load'; link.addEventListener('click', (event) => { event.preventDefault(); location.reload(); });
    note.replaceChildren(`${count(newer)} newer ${newer === 1 ? 'step is' : 'steps are'} not shown here. `, link);
  };
  let timer = 0; const later = (wait) => { if (!timer) timer = setTimeout(again, wait); };
  listen(`?trace=${head().dataset.trace}`, { changed: () => later(200), lost: () => later(1000), state() {} });
}
