/**
 * Polls over HTTP/2 that are answered again without a request being made of them (`again`, platform/replay.ts):
 * the same fields in the same order on the same connection, without a body.
 *
 * Bounds `knownMax` requests a connection, with their fields; the one remembered longest ago goes.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Replay } from "../../replay.ts";

/** Maximum number of resources that a client polls on one connection. */
const knownMax = 4;

interface Known {
  /** Names and values by turns, as Node gives them. */
  readonly fields: readonly string[];
  readonly again: Replay;
}

/** Remembered polls, by session. */
const polls = new WeakMap<object, Known[]>();

/** Remembers an answer for the stream's session, so that later streams of it can repeat the answer. */
export function rememberAnswer(
  stream: ServerHttp2Stream,
  fields: readonly string[],
  again: Replay,
): void {
  const { session } = stream;
  if (session === undefined || !stream.endAfterHeaders) return;
  const others = (polls.get(session) ?? []).filter((known) => !same(known.fields, fields));
  polls.set(session, [...others.slice(1 - knownMax), { fields, again }]);
}

/** Returns the remembered answer; undefined: the request is another one, or must be handled the usual way. */
export function recallAnswer(
  stream: ServerHttp2Stream,
  fields: readonly string[],
): ReturnType<Replay> {
  const { session } = stream;
  const known = session === undefined ? undefined : polls.get(session);
  if (known === undefined || !stream.endAfterHeaders) return undefined;
  return known.find((one) => same(one.fields, fields))?.again();
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}
