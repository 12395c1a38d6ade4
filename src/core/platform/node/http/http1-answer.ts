/** Writes the head of an HTTP/1.1 answer as node:http would write it. */
import type { Headers } from "../../http.ts";
import type { ReplayHead } from "../../replay.ts";
import { headerOf } from "./header-text.ts";
import { STATUS_CODES } from "./node-http.ts";

/** Characters that would end a line or are no byte. A header with one is a bug of the handler and is never sent. */
const refused = /[^\t\x20-\x7e\x80-\xff]/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A header of `headers` replaces the one of the same name in `more`. `connection`: lines on keeping the connection. */
export function answerHead(
  status: number,
  headers: Headers,
  more: Readonly<Record<string, string>>,
  connection: string,
): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (const [name, value] of Object.entries({ ...more, ...headers })) {
    if (name.toLowerCase() === "connection") continue;
    for (const one of typeof value === "string" ? [value] : value)
      text += line(name, headerOf(one));
  }
  if (headers["date"] === undefined) text += `Date: ${dateText()}\r\n`;
  return `${text}${connection}\r\n`;
}

/** Whether an answer may have a body. After a head that allows none, a body would be read as the next answer. */
export function hasBody(method: string, status: number): boolean {
  return method !== "HEAD" && status !== 204 && status !== 304;
}

/** A 304 would have to give the length of the 200, and a 204 has none (RFC 9110, 8.6), so both omit it. */
export function lengthOf(
  status: number,
  body: readonly Uint8Array[],
): { readonly "content-length"?: string } {
  if (status === 204 || status === 304) return {};
  return { "content-length": String(body.reduce((sum, chunk) => sum + chunk.length, 0)) };
}

/** Whether the answer's own headers close the connection. */
export function isLast(headers: Headers): boolean {
  const { connection } = headers as { connection?: Headers[string] };
  return connection !== undefined && /close/i.test(String(connection));
}

function line(name: string, value: string): string {
  if (!token.test(name) || refused.test(value)) throw new Error(`not a header: ${name}`);
  return `${name}: ${value}\r\n`;
}

interface Repeated {
  readonly date: string;
  readonly bytes: Buffer;
}

/** Bytes of heads that many connections receive; they live as long as the head. */
const repeated = new WeakMap<ReplayHead, Repeated>();

/** Returns the whole answer. Its bytes are made once a second, for all connections that receive this head. */
export function replayBytes(head: ReplayHead): Uint8Array {
  const date = dateText();
  const known = repeated.get(head);
  if (known?.date === date) return known.bytes;
  const bytes = Buffer.from(answerHead(head.status, head.headers, {}, ""), "latin1");
  repeated.set(head, { date, bytes });
  return bytes;
}

let second = 0;
let secondText = "";

/** Returns the date header's value, which is made once a second. */
function dateText(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now === second) return secondText;
  second = now;
  return (secondText = new Date(now * 1000).toUTCString());
}
