/** Compression of answers as upstream does it, for the server and for the relay. */

/** Minimum size of a body to be compressed (upstream's threshold). */
export const gzipBytesMin = 128 * 1024;
/** As upstream: speed over size. */
export const gzipLevel = 1;

/** As upstream, looks only for the name: a q-value of 0 is ignored. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.split(",").some((part) => part.trim().split(";")[0] === "gzip");
}
