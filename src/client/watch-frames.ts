/** Watch bodies as events: checks the envelope only; callers decode the object for their kind. */
import type { AnyObject } from "#api/object.ts";
import type { WatchEventType } from "#platform/http.ts";
import type { WatchedEvent } from "./client.ts";
import { JsonFrames } from "./json-frames.ts";

type Deliver = (events: readonly WatchedEvent<AnyObject>[]) => void;

const types: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]);

/** Takes chunks, delivers each chunk's whole events as one batch. Throws on what is no watch event. */
export function watchFrames(frameBytesMax: number, deliver: Deliver): (chunk: Uint8Array) => void {
  const frames = new JsonFrames({ frameBytesMax });
  return (chunk) => {
    const events = frames.push(chunk).map(watchEvent);
    if (events.length > 0) deliver(events);
  };
}

function watchEvent(value: unknown): WatchedEvent<AnyObject> {
  if (typeof value === "object" && value !== null && "type" in value && "object" in value) {
    const { type, object } = value;
    if (typeof type === "string" && types.has(type) && typeof object === "object" && object) {
      // Checked above: one of the five types, and an object.
      return { type: type as WatchEventType, object: object as AnyObject };
    }
  }
  throw new SyntaxError("watch frame is no watch event");
}
