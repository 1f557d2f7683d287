// Review by keys: j and k go on and back, digits judge, m is for the note; Esc leaves a field.
const judge = document.getElementById('judge');
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest('input, select, textarea, dialog');
  if (field || event.target.closest('#rows')) { if (field && event.key === 'Escape') field.blur(); return; }
  const link = { j: 'next', k: 'prev' }[event.key];
  if (link) document.querySelector(`.review [rel=${link}]`)?.click();
  else if (/^[1-9]$/.test(event.key)) judge?.querySelector(`[data-key="${event.key}"]`)?.click();
  else if (event.key === 'm') { event.preventDefault(); judge?.elements.explanation.focus(); }
});
