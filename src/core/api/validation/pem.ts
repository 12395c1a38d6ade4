/**
 * PEM (RFC 7468) as Go's encoding/pem reads it: text around blocks is skipped, and so are incomplete
 * blocks. One pass: the cost is linear in the text, even if markers are repeated.
 */

interface PemBlock {
  readonly label: string;
  /** Whether it has RFC 1421 headers, which Kubernetes does not allow. */
  readonly hasHeaders: boolean;
  /** The base64 between the markers, without line ends. */
  readonly body: string;
}

const beginMark = "-----BEGIN ";
const endMark = "-----END ";
const dashes = "-----";
/** Longer texts are not accepted as labels. */
const labelMax = 80;

export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let end = -1;
  for (let begin = text.indexOf(beginMark); begin >= 0;) {
    const next = text.indexOf(beginMark, begin + beginMark.length);
    if (end < begin) end = text.indexOf(endMark, begin);
    if (end < 0) break;
    const whole = next < 0 || end < next ? pemBlock(text, begin, end) : undefined;
    if (whole !== undefined) blocks.push(whole);
    begin = next;
  }
  return blocks;
}

function pemBlock(text: string, begin: number, end: number): PemBlock | undefined {
  const head = text.slice(begin + beginMark.length, begin + beginMark.length + labelMax);
  const labelLength = head.indexOf(dashes);
  if (labelLength < 0) return undefined;
  const label = head.slice(0, labelLength);
  if (!text.startsWith(endMark + label + dashes, end)) return undefined;
  const inner = text.slice(begin + beginMark.length + labelLength + dashes.length, end);
  const hasHeaders = inner.includes(":");
  const body = (hasHeaders ? withoutHeaders(inner) : inner).replace(/\s+/g, "");
  if (body.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(body)) return undefined;
  return { label, hasHeaders, body };
}

function withoutHeaders(inner: string): string {
  return inner
    .split("\n")
    .filter((line) => !line.includes(":"))
    .join("");
}

/** DER of a SEQUENCE begins with one of these digits. The contents are not checked. */
export function looksLikeDer({ body }: PemBlock): boolean {
  return /^M[A-P]/.test(body);
}
