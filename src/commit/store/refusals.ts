/** Results of writes that are refused before they are sequenced. */
import type { Room } from "./engines/engine.ts";
import { keyBytesLimit } from "./record.ts";
import type { Key, WriteRefused } from "./store.ts";

/** Undefined: a put of this size is allowed. */
export function tooLarge(
  key: Key,
  value: Uint8Array,
  valueBytesMax: number,
): WriteRefused | undefined {
  if (value.length > valueBytesMax) return overLimit("value", value.length, valueBytesMax);
  if (key.length > keyBytesLimit) return overLimit("key", key.length, keyBytesLimit);
  return undefined;
}

function overLimit(what: string, bytes: number, bytesMax: number): WriteRefused {
  const message = `${what} of ${bytes} bytes is over the limit of ${bytesMax}`;
  return { kind: "too-large", message };
}

/** Undefined: the disk has room. */
export function noSpace(room: Room): WriteRefused | undefined {
  return room.kind === "ok" ? undefined : room;
}

/** The outcome is unknown, unless the command was never sequenced. */
export function stopped(error: Error): WriteRefused {
  return { kind: "stopped", message: error.message };
}
