// What changes on the server, as it changes. A hidden page closes its stream: browsers have few connections for each server.
/** Calls `changed(ids)` for traces that something came for, `lost()` where more came than can be told, `state(word)` for people. */
export function listen(query, { changed, lost, state }) {
  let stream = null, timer = 0;
  const open = () => {
    if (stream) return;
    stream = new EventSource('/api/v1/events' + query);
    stream.addEventListener('hello', () => state('on'));
    stream.addEventListener('changed', (event) => changed(JSON.parse(event.data).traces));
    stream.addEventListener('lost', lost);
    stream.onerror = () => state(stream?.readyState === EventSource.CLOSED ? 'closed' : 'waiting');
  };
  const close = () => { stream?.close(); stream = null; };
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, 30000); else if (!stream) { open(); lost(); }
  });
  addEventListener('pagehide', close);
  open();
}
