/** Hostnames of listeners and routes: exact, `*.example.com` for one label or more before it, `*` for any. */

const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const valid = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label}){0,126}$`);
const lengthMax = 253;
export const anyHostname = "*";

/** Returns the hostname in lower case; undefined if it is not valid. */
export function hostnameOf(text: string): string | undefined {
  if (text.length > lengthMax) return undefined;
  const lower = text.toLowerCase();
  return valid.test(lower) ? lower : undefined;
}

/** Whether the pattern includes every host of `hostname`. */
export function covers(pattern: string, hostname: string): boolean {
  if (pattern === anyHostname || pattern === hostname) return true;
  return pattern.startsWith("*.") && hostname.length > pattern.length - 1
    ? hostname.endsWith(pattern.slice(1))
    : false;
}

/** All patterns that cover a hostname: itself, a wildcard for each of its dots, and any. */
export function coveringPatterns(hostname: string): readonly string[] {
  const patterns = [hostname];
  const start = hostname.startsWith("*.") ? 2 : 0;
  for (let dot = hostname.indexOf(".", start); dot >= 0; dot = hostname.indexOf(".", dot + 1)) {
    patterns.push(`*${hostname.slice(dot)}`);
  }
  return hostname === anyHostname ? patterns : [...patterns, anyHostname];
}

/** Returns the narrower of two patterns; undefined if they have no host in common. */
export function intersection(a: string, b: string): string | undefined {
  if (covers(a, b)) return b;
  return covers(b, a) ? a : undefined;
}

/** Below zero: `a` is more specific. Exact before wildcard, then longer before shorter. */
export function compareSpecificity(a: string, b: string): number {
  const wild = (hostname: string): number => (hostname.startsWith("*") ? 1 : 0);
  return wild(a) - wild(b) || b.length - a.length;
}
