/** When an answer is compressed, and how: as upstream does it, for the server and for a relay before it. */

/** Below this a body is not worth compressing (upstream's threshold). */
export const gzipBytesMin = 128 * 1024;
/** As upstream: speed over size. */
export const gzipLevel = 1;

/** Upstream looks for the name only: a q-value of 0 is not read. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.split(",").some((part) => part.trim().split(";")[0] === "gzip");
}
