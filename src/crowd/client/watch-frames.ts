/** Watch bodies as events: checks the envelope only; callers decode the object for their kind. */
import type { AnyObject } from "#api/object.ts";
import type { WatchEventType } from "#platform/http.ts";
import type { WatchedEvent } from "./client.ts";
import { JsonFrames } from "./json-frames.ts";
import { LengthFrames } from "./length-frames.ts";
import type { ObjectCoding } from "./object-coding.ts";

type Deliver = (events: readonly WatchedEvent<AnyObject>[]) => void;

/** How API servers begin a frame of each type; the object and a closing brace follow. */
const heads: Readonly<Record<WatchEventType, Uint8Array>> = {
  ADDED: headOf("ADDED"),
  MODIFIED: headOf("MODIFIED"),
  DELETED: headOf("DELETED"),
  BOOKMARK: headOf("BOOKMARK"),
  ERROR: headOf("ERROR"),
};

/** Delivers the whole events of each chunk as one batch. Throws for anything but watch events. */
export function watchFrames(frameBytesMax: number, deliver: Deliver): (chunk: Uint8Array) => void {
  const frames = new JsonFrames({ frameBytesMax });
  return (chunk) => {
    const events = frames.pushBytes(chunk).map((frame) => watchEvent(frames.parse(frame), frame));
    if (events.length > 0) deliver(events);
  };
}

interface CodedOptions {
  readonly frameBytesMax: number;
  readonly isLazy: boolean;
  /** The watch begins with the whole state. */
  readonly isFirstState: boolean;
}

/**
 * Splits a watch body in another encoding. All its objects have the kind of the first, which decides how they
 * are decoded; an object of another kind is a fault of the server.
 */
export function codedWatchFrames(
  coding: ObjectCoding,
  options: CodedOptions,
  deliver: Deliver,
): (chunk: Uint8Array) => void {
  const frames = new LengthFrames(options);
  let { isFirstState } = options;
  let first: Pick<AnyObject, "apiVersion" | "kind"> | undefined;
  const read = (frame: Uint8Array): WatchedEvent<AnyObject> => {
    const { type, object } = coding.event(frame, options.isLazy, isFirstState);
    if (!isEventType(type)) throw new SyntaxError("watch frame is no watch event");
    if (type === "ERROR") return { type, object };
    // The first bookmark marks the end of the initial state.
    if (type === "BOOKMARK") isFirstState = false;
    // Copies the type, because keeping the object would hold its memory as long as the watch.
    first ??= { apiVersion: object.apiVersion ?? "", kind: object.kind ?? "" };
    if (object.kind === first.kind && object.apiVersion === first.apiVersion) {
      return { type, object };
    }
    throw new SyntaxError(
      `watch frame holds a ${kindOf(object)}, those before it ${kindOf(first)}`,
    );
  };
  return (chunk) => {
    const events = frames.push(chunk).map(read);
    if (events.length > 0) deliver(events);
  };
}

function kindOf({ apiVersion, kind }: Pick<AnyObject, "apiVersion" | "kind">): string {
  return `${apiVersion} ${kind}`;
}

function watchEvent(value: unknown, frame: Uint8Array): WatchedEvent<AnyObject> {
  if (typeof value === "object" && value !== null && "type" in value && "object" in value) {
    const { type, object } = value;
    if (typeof type === "string" && isEventType(type) && typeof object === "object" && object) {
      // Checked above to be an object.
      const event = { type, object: object as AnyObject };
      if (Object.keys(value).length !== 2 || !beginsWith(frame, heads[type])) return event;
      return { ...event, json: frame.subarray(heads[type].length, -1) };
    }
  }
  throw new SyntaxError("watch frame is no watch event");
}

function isEventType(type: string): type is WatchEventType {
  return Object.hasOwn(heads, type);
}

function beginsWith(frame: Uint8Array, head: Uint8Array): boolean {
  for (let at = 0; at < head.length; at++) if (frame[at] !== head[at]) return false;
  return true;
}

function headOf(type: WatchEventType): Uint8Array {
  return new TextEncoder().encode(`{"type":"${type}","object":`);
}
