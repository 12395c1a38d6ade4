/**
 * Heads of the answers to polls: plain data for the usual way, and for a 304 that is given again and
 * again its bytes, made once a second for the whole crowd.
 */
import type { HeadAlone } from "#platform/http.ts";
import type { Clock } from "#platform/clock.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { View } from "../views/view.ts";
import type { ViewContent } from "../views/view-content.ts";

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

export function notModifiedHead(poll: Poll): HeadAlone {
  const { clock, mirror, view, content, tag } = poll;
  const second = Math.floor(clock.nowMs() / 1000);
  const at = `${second} ${view.revision} ${ageText(mirror)}`;
  const known = content.heads.get(tag);
  if (known?.at === at) return known.head;
  const headers = pollHeaders(poll);
  const lines = ["HTTP/1.1 304 Not Modified", `date: ${new Date(second * 1000).toUTCString()}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  const http1 = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  const head = { status: 304, headers, http1 };
  content.heads.set(tag, { at, head });
  return head;
}

function ageText(mirror: Mirror): string {
  return String(Math.ceil(mirror.ageMs / 1000));
}
