/** A worst case as data: requests, what they are answered, and how long they may hold a loop. */
import type { IncomingHttpHeaders } from "node:http";

export interface AttackRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called before the clock of the case starts. */
  readonly body?: () => Uint8Array | string;
}

export interface AttackAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The first 64 KiB. */
  readonly text: string;
  readonly bytes: number;
}

/** One connection to the measured server with the admin's certificate. */
export interface Api {
  send(request: AttackRequest): Promise<AttackAnswer>;
}

export interface Attack {
  /** A sentence's object: `290,000 complex keys as YAML`. */
  readonly name: string;
  /** Unmeasured: objects that the attack needs. Always to the plane, also for a relay's case. */
  readonly prepare?: (plane: Api) => Promise<unknown>;
  /** Sent one after the other, all measured. */
  readonly requests: readonly AttackRequest[];
  /** Of every answer. */
  readonly expect: number | readonly number[];
  /** Part of the last answer's text. */
  readonly says?: string | RegExp;
  /** Instead of `requests`: a conversation of its own; returns the status to be checked. */
  readonly converse?: (api: Api) => Promise<number>;
  /** Of `converse`; absent: one. */
  readonly connections?: number;
  /** Which process is attacked and measured. Absent: the plane. */
  readonly target?: "plane" | "relay";
  /** Absent: `heldMsMax`. */
  readonly heldMsMax?: number;
}

/** No request holds a loop for longer, in milliseconds of the main thread's CPU. */
export const heldMsMax = Number(process.env["PILOTHOUSE_HELD_MS_MAX"] ?? 50);

/** The largest body the API takes. */
export const bodyBytesMax = 3 * 2 ** 20;

export const json = "application/json";
export const yaml = "application/yaml";
export const protobuf = "application/vnd.kubernetes.protobuf";

/** Just below what one object may be built of (`objectLimits` of the API server). */
export const partsMax = 65_536;
export const keysMax = 8_192;
export const keyedItemsMax = 4_096;
export const listedObjectsMax = 16_384;

/** `head`, then `unit(i)` joined by `separator` as often as it fits into `bytesMax`, then `tail`. */
export function filled(
  head: string,
  unit: (index: number) => string,
  tail: string,
  options: FilledOptions = {},
): string {
  const { separator = ",", bytesMax = bodyBytesMax, countMax = Number.POSITIVE_INFINITY } = options;
  const parts: string[] = [];
  let left = bytesMax - head.length - tail.length;
  for (let index = 0; index < countMax; index++) {
    const part = index === 0 ? unit(index) : separator + unit(index);
    if (part.length > left) break;
    left -= part.length;
    parts.push(part);
  }
  return head + parts.join("") + tail;
}

export interface FilledOptions {
  readonly separator?: string;
  readonly bytesMax?: number;
  readonly countMax?: number;
}
