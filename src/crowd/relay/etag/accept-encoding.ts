/** Content codings that a client accepts, by q-values (RFC 9110, 12.5.3). */
import type { Coding } from "./body-part.ts";

/** Returns the coding with the highest q-value; among equals zstd, then gzip. Undefined: the client accepts neither. */
export function chooseCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === "") return undefined;
  const plain = qualityOf(header, "identity") ?? 0;
  const zstd = qualityOf(header, "zstd") ?? qualityOf(header, "*") ?? 0;
  const gzip =
    qualityOf(header, "gzip") ?? qualityOf(header, "x-gzip") ?? qualityOf(header, "*") ?? 0;
  if (Math.max(zstd, gzip) === 0 || plain > Math.max(zstd, gzip)) return undefined;
  return zstd >= gzip ? "zstd" : "gzip";
}

/** Whether the client accepts gzip with a q-value above 0, by name or by `*`. */
export function acceptsGzip(header: string | undefined): boolean {
  return (qualityOf(header ?? "", "gzip") ?? qualityOf(header ?? "", "*") ?? 0) > 0;
}

/** Returns the q-value of a coding; a malformed q-value counts as 0. Undefined: the header does not name the coding. */
function qualityOf(header: string, coding: string): number | undefined {
  for (const part of header.split(",")) {
    const [name = "", ...params] = part.toLowerCase().split(";");
    if (name.trim() !== coding) continue;
    const q = params.map((param) => param.trim()).find((param) => param.startsWith("q="));
    const value = q === undefined ? 1 : Number(q.slice(2));
    return value > 0 && value <= 1 ? value : 0;
  }
  return undefined;
}
