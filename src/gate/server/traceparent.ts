/** The header `traceparent` of W3C Trace Context: the span of another program that a request belongs to. */

export interface RemoteSpan {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly isSampled: boolean;
}

/** Maximum length: the format's 55 characters, plus room for additions of later versions. */
const textMax = 256;
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header. @returns undefined when it is absent or invalid. */
export function readTraceparent(text: string | undefined): RemoteSpan | undefined {
  if (text === undefined || text.length > textMax) return undefined;
  const [, version = "", trace = "", span = "", flags = "", more] = traceparent.exec(text) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined))
    return undefined;
  if (/^0+$/.test(trace) || /^0+$/.test(span)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId: fromHex(trace), spanId: fromHex(span), isSampled };
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "hex"));
}
