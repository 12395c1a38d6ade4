/**
 * Heads of the answers to polls. That of a 304 which is given again and again is one object for the whole
 * crowd, as long as it says the same: the listener makes its bytes once a second.
 */
import type { ReplayHead } from "#platform/replay.ts";
import type { PolledView } from "../views/polled-view.ts";
import type { ViewContent } from "../views/view-content.ts";

export interface Poll {
  /** Age of the mirrored state that the view is made of. */
  readonly ageMs: number;
  readonly view: PolledView;
  readonly content: ViewContent;
  /** ETag of the content with the suffix of its coding, without quotes. */
  readonly tag: string;
}

const variants = "Accept, Accept-Encoding, Authorization";

export function pollHeaders(poll: Poll): Readonly<Record<string, string>> {
  const { ageMs, view, content, tag } = poll;
  return {
    etag: `"${tag}"`,
    "cache-control": "no-cache, private",
    vary: variants,
    "last-modified": new Date(content.changedMs).toUTCString(),
    "x-count": String(content.count),
    "x-revision": view.position,
    "age-of-data": ageText(ageMs),
  };
}

export function notModifiedHead(poll: Poll): ReplayHead {
  const { ageMs, view, content, tag } = poll;
  const at = `${view.position} ${ageText(ageMs)}`;
  const known = content.heads.get(tag);
  if (known?.at === at) return known.head;
  const head = { status: 304, headers: pollHeaders(poll) };
  content.heads.set(tag, { at, head });
  return head;
}

function ageText(ageMs: number): string {
  return String(Math.ceil(ageMs / 1000));
}
