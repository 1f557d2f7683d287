// Numbers and times as the server writes them (src/view/text.rs, src/pages/words.rs); a test compares both on the same values.

/** How long something took, from nanoseconds. */
export function took(nanos) {
  if (!(nanos > 0)) return '0 s';
  if (nanos < 1e3) return '<1 µs';
  if (nanos < 999500) return Math.floor((nanos + 500) / 1e3) + ' µs';
  if (nanos < 9995000) { const hundredths = Math.floor((nanos + 5000) / 1e4); return Math.floor(hundredths / 100) + '.' + two(hundredths % 100) + ' ms'; }
  const millis = Math.floor((nanos + 500000) / 1e6), seconds = Math.floor(millis / 1e3);
  if (millis < 1e3) return millis + ' ms';
  if (millis < 6e4) return seconds + '.' + two(Math.floor(millis % 1e3 / 10)) + ' s';
  if (millis < 36e5) return Math.floor(seconds / 60) + ' m ' + two(seconds % 60) + ' s';
  return Math.floor(seconds / 3600) + ' h ' + two(Math.floor(seconds / 60) % 60) + ' m';
}
const two = (number) => String(number).padStart(2, '0');
/** A whole number with thin spaces. */
export const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u2009');
const tenths = (number, unit) => { const value = Math.floor((number + unit / 20) / (unit / 10)); return Math.floor(value / 10) + '.' + value % 10; };
/** A whole number in lists. */
export const short = (number) => number < 1000 ? String(number) : number < 99950 ? tenths(number, 1e3) + ' k' : number < 999500 ? Math.floor((number + 500) / 1e3) + ' k' : tenths(number, 1e6) + ' M';
/** A step of 1, 2 or 5 times a power of ten, so that about `places` fit. */
export function step(span, places) {
  const raw = span / places, power = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw) || power;
}
