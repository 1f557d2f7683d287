// What changes on the server, as it changes. A hidden page has no stream: a browser has six connections for a server, and one more page
// would not even load. When it is looked at again, it asks for what came since.
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
    if (document.hidden) timer = setTimeout(close, 500); else if (!stream) { open(); lost(); }
  });
  addEventListener('pagehide', close);
  if (!document.hidden) open();
}
