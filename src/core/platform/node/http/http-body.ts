/**
 * Reading a request body with a bound: Node stream in, bytes or "too-large" out.
 *
 * Holds  at most `limitBytes` plus one network read in memory, charged as it arrives; nothing is read before
 *        it is asked for. Pieces of a few bytes are joined: a client may send them one by one.
 * Turns  `ReadOn` says when the next piece is read: of many bodies, some in each turn of the loop (body-turns.ts). What is
 *        left of a body that was refused is read so, too.
 * Fails  with an Error when the client goes away in the middle.
 */
import type { Readable } from "node:stream";
import type { PlainBody, TakeChunk } from "../../http.ts";
import type { Holding } from "../../ledger.ts";
import { BodyPieces } from "./body-pieces.ts";
import { asciiTarget } from "./header-text.ts";

export const noBody: PlainBody = { kind: "none" };

/** Returns what to wait for before the next piece is read; undefined: no wait. */
export type ReadOn = (source: Readable, bytes: number) => Promise<void> | undefined;

/** A body that is read on demand. `declaredBytes`: Content-Length, where the client sent it. */
export function streamBody(
  source: Readable,
  declaredBytes: number | undefined,
  readOn: ReadOn,
): PlainBody {
  return {
    kind: "bytes",
    declaredBytes,
    stream: (take) =>
      streamReadable(source, (chunk) => bothOf(take(chunk), readOn(source, chunk.length))),
    read: (limitBytes, holding) => {
      if (declaredBytes !== undefined && declaredBytes > limitBytes) {
        return Promise.resolve("too-large");
      }
      return streamBodyRead(source, readOn, { limitBytes, holding });
    },
  };
}

function bothOf(a: void | Promise<void>, b: void | Promise<void>): void | Promise<void> {
  if (a === undefined || b === undefined) return a ?? b;
  return Promise.all([a, b]).then(() => {});
}

/** Passes chunks to `take` at its pace; resolves at the clean end. An error of `take` stops the reading. */
export function streamReadable(source: Readable, take: TakeChunk): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      source.off("data", onData);
      source.pause();
      reject(error instanceof Error ? error : new Error("bytes were refused", { cause: error }));
    };
    const onData = (chunk: Uint8Array): void => {
      try {
        const held = take(chunk);
        if (held === undefined) return;
        source.pause();
        held.then(() => source.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    source.on("data", onData);
    source.on("end", resolve);
    source.on("error", fail);
    source.on("close", () => fail(new Error("the connection broke off")));
  });
}

function streamBodyRead(
  source: Readable,
  readOn: ReadOn,
  { limitBytes, holding }: { readonly limitBytes: number; readonly holding: Holding },
): Promise<Uint8Array | "too-large" | "refused"> {
  return new Promise((resolve, reject) => {
    const pieces = new BodyPieces();
    source.on("data", (chunk: Uint8Array) => {
      pauseUntil(source, readOn(source, chunk.length));
      if (pieces.bytes + chunk.length > limitBytes) return settle(() => resolve("too-large"));
      if (!holding.take("body", chunk.length)) return settle(() => resolve("refused"));
      pieces.add(chunk);
    });
    const onEnd = (): void => settle(() => resolve(pieces.joined()));
    const onGone = (): void =>
      settle(() => reject(new Error("the client went away before its body ended")));
    const settle = (f: () => void): void => {
      source.removeAllListeners("data");
      source.off("end", onEnd).off("close", onGone).off("error", onGone);
      source.on("error", ignore);
      if (!source.readableEnded) readAway(source, readOn);
      f();
    };
    source.on("end", onEnd).on("close", onGone).on("error", onGone);
  });
}

function ignore(): void {}

function pauseUntil(source: Readable, turn: Promise<void> | undefined): void {
  if (turn === undefined) return;
  source.pause();
  void turn.then(() => source.resume());
}

/** Reads the rest of a body and drops it, so that the connection can be used again. */
function readAway(source: Readable, readOn: ReadOn): void {
  source.on("data", (chunk: Uint8Array) => pauseUntil(source, readOn(source, chunk.length)));
  source.resume();
}

/** Content-Length as a number; undefined when absent or not a plain decimal. */
export function declaredLength(header: string | undefined): number | undefined {
  if (header === undefined || !/^[0-9]{1,15}$/.test(header)) return undefined;
  return Number(header);
}

/** Splits a request target into its decoded path and raw query; undefined when it is malformed. */
export function splitTarget(target: string): { path: string; query: string } | undefined {
  const ascii = asciiTarget(target);
  const start = ascii.startsWith("/") ? ascii : absoluteForm(ascii);
  if (start === undefined) return undefined;
  const mark = start.indexOf("?");
  const raw = mark < 0 ? start : start.slice(0, mark);
  try {
    const path = raw.includes("%") ? decodeURIComponent(raw) : raw;
    return { path, query: mark < 0 ? "" : start.slice(mark + 1) };
  } catch {
    return undefined;
  }
}

function absoluteForm(target: string): string | undefined {
  const match = /^https?:\/\/[^/?]*(.*)$/.exec(target);
  if (match === null) return undefined;
  const rest = match[1] ?? "";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
