/**
 * Heads of the answers to polls: plain data for the usual way, and for a 304 that is given again and
 * again its bytes, made once a second for the whole crowd.
 */
import type { Clock } from "#platform/clock.ts";
import type { Mirror } from "./mirror.ts";
import type { View } from "./view.ts";
import type { ViewContent } from "./view-content.ts";

export interface Poll {
  readonly clock: Clock;
  readonly mirror: Mirror;
  readonly view: View;
  readonly content: ViewContent;
  /** With the coding's suffix, without quotes. */
  readonly tag: string;
}

const variants = "Accept, Accept-Encoding, Authorization";

export function pollHeaders(poll: Poll): Readonly<Record<string, string>> {
  const { mirror, view, content, tag } = poll;
  return {
    etag: `"${tag}"`,
    "cache-control": "no-cache, private",
    vary: variants,
    "last-modified": new Date(content.changedMs).toUTCString(),
    "x-count": String(content.count),
    "x-revision": String(view.revision),
    "age-of-data": ageText(mirror),
  };
}

/** The whole head of a 304 on HTTP/1.1, with which the answer ends. */
export function notModifiedHead(poll: Poll): Uint8Array {
  const { clock, mirror, view, content, tag } = poll;
  const second = Math.floor(clock.nowMs() / 1000);
  const at = `${second} ${view.revision} ${ageText(mirror)}`;
  const known = content.heads.get(tag);
  if (known?.at === at) return known.bytes;
  const lines = ["HTTP/1.1 304 Not Modified", `date: ${new Date(second * 1000).toUTCString()}`];
  for (const [name, value] of Object.entries(pollHeaders(poll))) lines.push(`${name}: ${value}`);
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  content.heads.set(tag, { at, bytes });
  return bytes;
}

function ageText(mirror: Mirror): string {
  return String(Math.ceil(mirror.ageMs / 1000));
}
