/**
 * Watch frames as WebSocket messages: text for JSON, binary for protobuf, one event each.
 *
 * Holds  a message is a head followed by the very bytes of the frame, so streams over HTTP and over WebSocket share
 *        the encoded bytes. Heads depend on the length alone and are shared, too: a batch is joined once for all
 *        watchers that get it.
 */
import { messageHead } from "#wire/websocket/frames.ts";
import type { WatchFormat } from "./watch-frames.ts";

/** A protobuf frame begins with its length, which a WebSocket message has in its header. */
const lengthBytes = 4;
/** Maximum cached headers of each kind. */
const headsMax = 1024;

/** Formats shared by many streams stay shared. */
const known = new WeakMap<WatchFormat, WatchFormat>();

/** `isBinary`: the frames of `format` are protobuf. */
export function messageFormat(format: WatchFormat, isBinary: boolean): WatchFormat {
  if (format.isShared !== true) return make(format, isBinary);
  const made = known.get(format) ?? make(format, isBinary);
  known.set(format, made);
  return made;
}

function make(format: WatchFormat, isBinary: boolean): WatchFormat {
  const message = isBinary ? binaryMessage : textMessage;
  return { ...format, key: `ws.${format.key}`, message };
}

type Message = readonly [head: Uint8Array, payload: Uint8Array];

function textMessage(frame: Uint8Array): Message {
  return [headOf(textHeads, false, frame.length), frame];
}

/** Returns the same view for the same frame, because caches are keyed by identity. */
const payloads = new WeakMap<Uint8Array, Uint8Array>();

function binaryMessage(frame: Uint8Array): Message {
  const payload = payloads.get(frame) ?? frame.subarray(lengthBytes);
  payloads.set(frame, payload);
  return [headOf(binaryHeads, true, payload.length), payload];
}

const textHeads = new Map<number, Uint8Array>();
const binaryHeads = new Map<number, Uint8Array>();

function headOf(heads: Map<number, Uint8Array>, isBinary: boolean, length: number): Uint8Array {
  const kept = heads.get(length);
  if (kept !== undefined) return kept;
  if (heads.size >= headsMax) heads.clear();
  const head = messageHead(isBinary, length);
  heads.set(length, head);
  return head;
}
