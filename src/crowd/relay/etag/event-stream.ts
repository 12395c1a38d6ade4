/**
 * A view's changes as server-sent events, for browsers: EventSource asks for them, keeps the id of the
 * last one and resumes from it.
 */
import { toStatus } from "#api/status.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { WatchFormat } from "#forms/watch-frames.ts";
import { identity, type ViewForm } from "../views/view-form.ts";

const encoder = new TextEncoder();

type EventForm = Pick<ViewForm, "key" | "change">;

export const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
} as const;

/**
 * Objects of the state a stream starts with (up to `startRevision`) come in key order and give no id:
 * a stream that is cut among them starts anew.
 */
export function eventFormat(form: EventForm, startRevision: number): WatchFormat {
  const key = `sse:${form.key}`;
  return {
    key,
    event: (type, object) =>
      object.revision <= startRevision
        ? object.encoded(`${key}:0`, (o) => frame(form, type, o, ""))
        : object.encoded(`${key}:${type[0]}`, (o) => frame(form, type, o, o.resourceVersion)),
    bookmark: (object) =>
      encoder.encode(`event: BOOKMARK\nid: ${object.metadata?.resourceVersion}\ndata: {}\n\n`),
    error: (error) => encoder.encode(`event: ERROR\ndata: ${JSON.stringify(toStatus(error))}\n\n`),
  };
}

/** An object without a row in the view counts as deleted. */
function frame(form: EventForm, type: string, object: CachedObject, id: string): Uint8Array {
  const change = form.change(object);
  const data = change ?? encoder.encode(JSON.stringify(identity(object)));
  const event = change === undefined ? "DELETED" : type;
  const head = `event: ${event}\n${id === "" ? "" : `id: ${id}\n`}data: `;
  return Buffer.concat([encoder.encode(head), data, encoder.encode("\n\n")]);
}
