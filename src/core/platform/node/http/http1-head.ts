/**
 * The head of a plain read: a GET or HEAD of HTTP/1.1 without body, written the usual way, whole in one
 * read and with nothing behind it. Everything else is undefined: node:http parses it.
 *
 * Why this is safe: only a subset is taken that has one meaning to every parser - no repeated header,
 * no header about framing or hops, no empty or folded value, ASCII only - so there is nothing to smuggle.
 */
import { splitTarget } from "./http-body.ts";
import { isHost } from "./http1-refusal.ts";

export interface PlainHead {
  readonly method: string;
  /** Decoded path. */
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Maximum size of a head that is parsed here; node:http parses longer ones, and checks their size. */
const headBytesMax = 8 * 1024;

const requestLine = /^(GET|HEAD) (\/[\x21\x22\x24-\x7e]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/;

/** Headers about bodies, hops and other protocols, and headers whose lines must not be joined. */
const notPlain =
  /^(?:content-length|transfer-encoding|te|trailer|expect|upgrade|proxy-connection|http2-settings|impersonate-.*)$/;

/** The last head parsed: clients without credentials often send the same head, which is kept once. */
let last: { readonly text: string; readonly head: PlainHead } | undefined;

export function plainHead(read: Buffer): PlainHead | undefined {
  if (read.length > headBytesMax) return undefined;
  const text = read.toString("latin1");
  if (last !== undefined && text === last.text) return last.head;
  const head = parseHead(text);
  if (head !== undefined) last = { text, head };
  return head;
}

function parseHead(text: string): PlainHead | undefined {
  if (!text.endsWith("\r\n\r\n")) return undefined;
  // A second head, or a body, would leave an empty line, which does not parse as a header.
  const [first = "", ...lines] = text.slice(0, -4).split("\r\n");
  const [, method, url] = requestLine.exec(first) ?? [];
  const target = url === undefined ? undefined : splitTarget(url);
  const headers = target === undefined ? undefined : headersOf(lines);
  if (method === undefined || target === undefined || headers === undefined) return undefined;
  return { method, path: target.path, query: target.query, headers };
}

function headersOf(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, written = "", value = ""] = headerLine.exec(line) ?? [];
    const name = written.toLowerCase();
    if (name === "" || name in headers || notPlain.test(name)) return undefined;
    if (name === "connection" && !/^keep-alive$/i.test(value)) return undefined;
    // own keys: a header called `__proto__` is lost; no handler reads it.
    headers[name] = value;
  }
  const { host } = headers as { host?: string };
  return host === undefined || !isHost(host) ? undefined : headers;
}
