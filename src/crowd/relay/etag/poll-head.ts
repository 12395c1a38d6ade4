/**
 * Heads of the answers to polls. That of a 304 which is given again and again is one object for the whole
 * crowd, as long as it says the same: the listener makes its bytes once a second.
 */
import type { ReplayHead } from "#platform/replay.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { View } from "../views/view.ts";
import type { ViewContent } from "../views/view-content.ts";

export interface Poll {
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

export function notModifiedHead(poll: Poll): ReplayHead {
  const { mirror, view, content, tag } = poll;
  const at = `${view.revision} ${ageText(mirror)}`;
  const known = content.heads.get(tag);
  if (known?.at === at) return known.head;
  const head = { status: 304, headers: pollHeaders(poll) };
  content.heads.set(tag, { at, head });
  return head;
}

function ageText(mirror: Mirror): string {
  return String(Math.ceil(mirror.ageMs / 1000));
}
