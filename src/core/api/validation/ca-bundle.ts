/**
 * Checks whether a caBundle holds an authority that can be trusted, in upstream's words
 * (apiserver pkg/util/webhook/validation.go, client-go transport/transport.go).
 *
 * A bundle is good when one of its CERTIFICATE blocks has the outer shape of a certificate: RFC 5280,
 * Certificate = SEQUENCE { SEQUENCE, SEQUENCE, BIT STRING }. Its content is judged when it is used.
 */
import type { Fields } from "./fields.ts";
import { maybe, part, text } from "./fields.ts";
import { pemBlocks } from "./pem.ts";

const prefix = "unable to load root certificates: ";
const Tag = { bitString: 0x03, sequence: 0x30 } as const;

/** Error of the conversion webhook's bundle in a definition's spec; undefined: none. */
export function conversionBundleFault(spec: Fields): string | undefined {
  const client = maybe(part(part(spec, "conversion"), "webhook"), "clientConfig");
  return client === undefined ? undefined : caBundleFault(text(client, "caBundle"));
}

/** `bundle`: base64; "" means that there is none, which is valid. */
function caBundleFault(bundle: string): string | undefined {
  if (bundle === "") return undefined;
  const blocks = pemBlocks(decoded(bundle) ?? "");
  const certificates = blocks.filter(
    ({ label, hasHeaders }) => label === "CERTIFICATE" && !hasHeaders,
  );
  if (certificates.some(({ body }) => isCertificate(decoded(body)))) return undefined;
  if (certificates.length > 0) {
    return `${prefix}failed to parse certificate: x509: malformed certificate`;
  }
  if (blocks.length > 0) return `${prefix}no valid certificate authority data seen`;
  return `${prefix}unable to parse bytes as PEM block`;
}

function decoded(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch {
    return undefined;
  }
}

function isCertificate(der: string | undefined): boolean {
  if (der === undefined) return false;
  const whole = elementAt(der, 0);
  if (whole?.tag !== Tag.sequence || whole.end !== der.length) return false;
  const tags: number[] = [];
  for (let at = whole.start; at < whole.end;) {
    const element = elementAt(der, at);
    if (element === undefined || element.end > whole.end) return false;
    tags.push(element.tag);
    at = element.end;
  }
  const [data, algorithm, signature] = tags;
  const isShaped = data === Tag.sequence && algorithm === Tag.sequence;
  return isShaped && signature === Tag.bitString && tags.length === 3;
}

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** Reads tag, length (one byte, or 1 to 3 bytes after it) and contents. */
function elementAt(der: string, at: number): Element | undefined {
  const first = der.charCodeAt(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  if (Number.isNaN(first) || lengthBytes > 3) return undefined;
  let length = lengthBytes === 0 ? first : 0;
  for (let i = 0; i < lengthBytes; i++) length = length * 256 + der.charCodeAt(at + 2 + i);
  const start = at + 2 + lengthBytes;
  const end = start + length;
  return end <= der.length ? { tag: der.charCodeAt(at), start, end } : undefined;
}
