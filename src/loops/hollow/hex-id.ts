/** Ids that look like those of a runtime; equal texts have equal ids, so that a restart does not change them. */

/** Returns 64 hexadecimal digits from eight rounds of FNV-1a. Not for secrets. */
export function hexId(text: string): string {
  let digits = "";
  for (let round = 0; round < 8; round++) {
    let hash = 0x811c9dc5 ^ Math.imul(round + 1, 0x9e3779b1);
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
    hash ^= hash >>> 15;
    digits += (Math.imul(hash, 0x85ebca6b) >>> 0).toString(16).padStart(8, "0");
  }
  return digits;
}
