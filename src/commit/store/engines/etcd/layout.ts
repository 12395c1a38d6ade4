/**
 * Keys and small values of one log, all below a prefix. README.md has the table, and describes how it changes.
 *
 * Numbers in keys are padded with zeros, so that the order of keys is the order of numbers.
 */
import { CorruptionError, type LogHolder } from "../engine.ts";
import type { KeyRange } from "./cluster.ts";

/** 2^53 has 16 decimal digits. */
const slotDigits = 16;
const chunkDigits = 8;
/** Epochs are 32-bit in records. */
const epochDigits = 10;
const placeForm = /^[0-9a-z-]{1,64}$/;
const idForm = /^\d{10}-\d{8}$/;
const formatMark = "pilothouse log 1 ";
/** Format mark of a striped log; versions without stripes refuse it. */
const stripedMark = "pilothouse log 2 ";
/** Format of a cluster that holds only some slots of a striped log. */
const stripeForm = /^pilothouse stripe 1 (\S+) ([1-9]\d{0,8})$/;

/** Names the current checkpoint and the slot where the log after it begins. */
export interface Pointer {
  /** 0: there is no checkpoint yet. */
  readonly revision: number;
  /** Identifies the checkpoint's chunks. */
  readonly id: string;
  readonly chunks: number;
  readonly bytes: number;
  /** The first slot kept. Earlier slots are trimmed, even if they still exist. */
  readonly first: number;
  /** Head revision of the last batch that was trimmed. */
  readonly trimmedRevision: number;
  /** The log's name in the storage outside of etcd. Absent: the chunks are keys of this log. */
  readonly place?: string;
}

export const noPointer: Pointer = {
  revision: 0,
  id: "",
  chunks: 0,
  bytes: 0,
  first: 1,
  trimmedRevision: 0,
};

export class LogLayout {
  readonly prefix: string;
  readonly format: string;
  readonly epoch: string;
  readonly pointer: string;
  /** Absent: the log has one stripe. */
  readonly stripes: string;

  /** `prefix` ends with a slash, and is printable ASCII. */
  constructor(prefix: string) {
    this.prefix = prefix;
    this.format = `${prefix}format`;
    this.epoch = `${prefix}epoch`;
    this.pointer = `${prefix}checkpoint`;
    this.stripes = `${prefix}stripes`;
  }

  slot(number: number): string {
    return `${this.prefix}slot/${String(number).padStart(slotDigits, "0")}`;
  }

  slotNumber(key: string): number {
    return Number(key.slice(-slotDigits));
  }

  get slotPrefix(): string {
    return `${this.prefix}slot/`;
  }

  /** Slots from `from` on, at most `limit`, before slot `until`. */
  slots(from: number, limit: number, until?: number): KeyRange {
    const end = until === undefined ? `${this.prefix}slot0` : this.slot(until);
    return { start: this.slot(from), end, limit };
  }

  chunk(id: string, number: number): string {
    return `${this.prefix}chunk/${id}/${String(number).padStart(chunkDigits, "0")}`;
  }

  chunks(id: string, from: number, limit: number): KeyRange {
    return { start: this.chunk(id, from), end: `${this.prefix}chunk/${id}0`, limit };
  }

  /** The chunks of all attempts before this one. */
  olderChunks(id: string): { readonly start: string; readonly end: string } {
    return { start: `${this.prefix}chunk/`, end: `${this.prefix}chunk/${id}/` };
  }
}

/** Ids of later attempts are greater, also across openings. */
export function checkpointId(epoch: number, attempt: number): string {
  return `${String(epoch).padStart(epochDigits, "0")}-${String(attempt).padStart(chunkDigits, "0")}`;
}

export function encodeFormat(domain: string): Uint8Array {
  return ascii(`${formatMark}${domain}`);
}

/** Reads the log's domain. Throws CorruptionError. */
export function decodeFormat(value: Uint8Array, key: string): string {
  const text = fromAscii(value);
  for (const mark of [formatMark, stripedMark])
    if (text.startsWith(mark)) return text.slice(mark.length);
  if (stripeForm.test(text)) {
    throw new CorruptionError(
      `${key} names a stripe of a log: name the log's first etcd cluster in the first --etcd-servers`,
    );
  }
  throw new CorruptionError(`${key} does not name a log that this version can read: ${text}`);
}

export function encodeStripedFormat(domain: string): Uint8Array {
  return ascii(`${stripedMark}${domain}`);
}

/** The format key's value in the cluster that is stripe `number` (1 or more) of a log. */
export function encodeStripe(domain: string, number: number): Uint8Array {
  return ascii(`pilothouse stripe 1 ${domain} ${number}`);
}

export function isStripe(value: Uint8Array): boolean {
  return stripeForm.test(fromAscii(value));
}

/** The stripe number of a cluster of the log whose first cluster has format `home`. Throws CorruptionError. */
export function decodeStripe(value: Uint8Array, key: string, home: Uint8Array | undefined): number {
  const [, domain, number] = stripeForm.exec(fromAscii(value)) ?? [];
  if (home !== undefined && decodeFormat(home, key) === domain) return Number(number);
  throw new CorruptionError(`${key} names a stripe of another log: ${fromAscii(value)}`);
}

/** `token` distinguishes two openings that request the same epoch concurrently; `name` is the opening's, without spaces. */
export function encodeEpoch(epoch: number, token: string, name: string): Uint8Array {
  return ascii(name === "" ? `${epoch} ${token}` : `${epoch} ${token} ${name}`);
}

export function decodeEpoch(value: Uint8Array, key: string): number {
  return decodeHolder(value, key).epoch;
}

export function decodeHolder(value: Uint8Array, key: string): LogHolder {
  const text = fromAscii(value);
  const [number = "", , name = ""] = text.split(" ");
  const epoch = Number(number);
  if (Number.isSafeInteger(epoch) && epoch > 0) return { epoch, name };
  throw new CorruptionError(`${key} holds no epoch: ${text}`);
}

export function encodePointer(pointer: Pointer): Uint8Array {
  return ascii(JSON.stringify(pointer));
}

export function decodePointer(value: Uint8Array | undefined, key: string): Pointer {
  if (value === undefined) return noPointer;
  const text = fromAscii(value);
  const pointer = parse(text);
  const isWhole = (Object.keys(noPointer) as (keyof Pointer)[]).every(
    (name) => typeof pointer[name] === typeof noPointer[name],
  );
  const { place, id = "" } = pointer;
  // They are used as file names.
  const isNamed = place === undefined || (placeForm.test(place) && idForm.test(id));
  if (!isWhole || !isNamed) {
    throw new CorruptionError(`${key} is no pointer to a checkpoint: ${text}`);
  }
  return pointer as Pointer;
}

function parse(text: string): Partial<Pointer> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function fromAscii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, 4096));
}
