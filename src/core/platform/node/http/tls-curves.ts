/**
 * Key exchange mechanisms of a TLS listener by the numbers of IANA's TLS Supported Groups, as kube-apiserver's
 * `--tls-curve-preferences` has them. The order in the list is ignored: the strongest is preferred.
 */

/** Groups in order of preference: those that resist quantum computers, then the others by speed. */
const groups: readonly (readonly [number, string])[] = [
  [4588, "X25519MLKEM768"],
  [4587, "SecP256r1MLKEM768"],
  [4589, "SecP384r1MLKEM1024"],
  [29, "X25519"],
  [23, "P-256"],
  [24, "P-384"],
  [25, "P-521"],
];

/** Returns `ecdhCurve` for node:tls. Throws RangeError with the valid numbers for an unknown or repeated number. */
export function curvesOf(numbers: readonly number[]): string {
  const known = new Map(groups);
  for (const [at, number] of numbers.entries()) {
    if (numbers.indexOf(number) < at) throw new RangeError(`curve ${number} is there twice`);
    if (known.has(number)) continue;
    const all = groups.map(([one, name]) => `${one} ${name}`).join(", ");
    throw new RangeError(`curve ${number} is not known: give some of ${all}`);
  }
  const wanted = groups.filter(([number]) => numbers.includes(number));
  return wanted.map(([, name]) => name).join(":");
}
