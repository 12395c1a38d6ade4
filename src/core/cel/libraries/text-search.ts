/**
 * Where a text occurs in another, in linear time: Knuth, Morris and Pratt for patterns of some length,
 * the host's search below. The host's worst case is the product of both lengths, for a cost that counts
 * their sum.
 */

/** For shorter patterns the host's search makes at most this many comparisons per character. */
const shortPattern = 32;

/** The first match at or after `from`; -1: none. */
export function findText(text: string, pattern: string, from: number): number {
  if (pattern.length < shortPattern) return text.indexOf(pattern, from);
  const borders = bordersOf(pattern);
  let matched = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === code) matched++;
    if (matched === pattern.length) return at - pattern.length + 1;
  }
  return -1;
}

/** The last match at or before `from`; -1: none. */
export function findLastText(text: string, pattern: string, from: number): number {
  if (pattern.length < shortPattern) return text.lastIndexOf(pattern, from);
  const borders = bordersOf(pattern);
  let last = -1;
  let matched = 0;
  const stop = Math.min(text.length, from + pattern.length);
  for (let at = 0; at < stop; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === code) matched++;
    if (matched < pattern.length) continue;
    last = at - pattern.length + 1;
    matched = borders[matched - 1] ?? 0;
  }
  return last;
}

/** All matches that do not overlap the previous one; at most `limit`. */
export function findEach(text: string, pattern: string, limit: number): number[] {
  const places: number[] = [];
  if (pattern.length < shortPattern) {
    let at = text.indexOf(pattern);
    while (at >= 0 && places.length < limit) {
      places.push(at);
      at = text.indexOf(pattern, at + pattern.length);
    }
    return places;
  }
  const borders = bordersOf(pattern);
  let matched = 0;
  for (let at = 0; at < text.length && places.length < limit; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === code) matched++;
    if (matched < pattern.length) continue;
    places.push(at - pattern.length + 1);
    matched = 0;
  }
  return places;
}

/** For each prefix length: the length of the prefix's longest proper border. */
function bordersOf(pattern: string): Int32Array {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at++) {
    const code = pattern.charCodeAt(at);
    while (length > 0 && pattern.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (pattern.charCodeAt(length) === code) length++;
    borders[at] = length;
  }
  return borders;
}
