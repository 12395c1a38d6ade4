/**
 * HTTP/2 rim: one stream is one request. Uses the stream API directly; the compatibility layer of
 * node:http2 costs a quarter of the throughput and hides `respond`.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { ByteSink, Headers, Peer, PlainRequest, PlainResponse } from "../../http.ts";
import { type ReplayHead, replayOf } from "../../replay.ts";
import type { Unsent } from "./answer-progress.ts";
import { Backlog } from "./backlog.ts";
import { isOneRun, runsOf, writeTogether } from "./body-runs.ts";
import { declaredLength, noBody, splitTarget, streamBody } from "./http-body.ts";
import { headerOf, textOf } from "./header-text.ts";
import { frontProxyLines, impersonateLines } from "./http-lines.ts";
import { hasBody, lengthOf } from "./http1-answer.ts";
import { abandon, answerOf, UnsentAnswer, untilDrained } from "./http1.ts";
import { cuttable } from "./http2-deaf.ts";
import { badRequest, type Refusal, tooLarge } from "./http1-refusal.ts";
import { recallAnswer, rememberAnswer } from "./http2-again.ts";
import { callerOf, Departure, readOnOf, type Rim } from "./http-rim.ts";

/** Headers that HTTP/2 forbids (RFC 9113 8.2.2). */
const connectionHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

export async function serveHttp2(
  rim: Rim,
  peer: Peer,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): Promise<void> {
  const head = rim.draining ? undefined : recallAnswer(stream, rawHeaders);
  if (head !== undefined) return respondAgain(stream, head);
  const gone = new Departure();
  const leave = (): void => gone.leave();
  stream.on("close", leave);
  stream.on("error", leave);
  const turn = rim.turns.enter(stream.session ?? stream, callerOf(peer));
  if (turn !== undefined) await turn;
  // The stream was reset before its turn came, so nothing was begun.
  if (gone.hasLeft || stream.destroyed) return;
  const target = splitTarget(headers[":path"] ?? "");
  if (headBytes(rawHeaders) > rim.headBytesMax) return refuse(rim, peer, stream, headers, tooLarge);
  if (target === undefined) return refuse(rim, peer, stream, headers, badRequest);
  const request = plainRequest(stream, headers, rawHeaders, target, peer, gone);
  const answer = await answerOf(rim, request);
  if (answer.kind === "bytes" && answer.left !== undefined) stream.once("close", answer.left);
  if (gone.hasLeft || stream.destroyed) return abandon(answer);
  const again = replayOf(answer);
  if (again !== undefined) rememberAnswer(stream, rawHeaders, again);
  await send(rim, stream, answer, request.method);
}

function respondAgain(stream: ServerHttp2Stream, { status, headers }: ReplayHead): void {
  stream.on("error", ignoreError);
  if (stream.destroyed) return;
  stream.respond(headOf(status, headers), { endStream: true });
}

/** Node destroys the stream itself; without a listener the error would end the process. */
function ignoreError(): void {}

function plainRequest(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  target: { path: string; query: string },
  peer: Peer,
  gone: Departure,
): PlainRequest {
  return {
    method: headers[":method"] ?? "GET",
    path: target.path,
    query: target.query,
    headers: flatHeaders(headers),
    ...impersonateLines(rawHeaders),
    ...frontProxyLines(peer, rawHeaders),
    body: stream.endAfterHeaders
      ? noBody
      : streamBody(stream, declaredLength(headers["content-length"]), readOnOf(peer)),
    peer,
    get signal() {
      return gone.signal;
    },
  };
}

function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    // own keys: a header called `__proto__` is lost; no handler reads it.
    flat[name] = textOf(typeof value === "string" ? value : value.join(", "));
  }
  const authority = headers[":authority"];
  if (authority !== undefined && flat["host"] === undefined) flat["host"] = authority;
  return flat;
}

async function send(
  rim: Rim,
  stream: ServerHttp2Stream,
  answer: PlainResponse,
  method: string,
): Promise<void> {
  switch (answer.kind) {
    case "bytes":
      return sendBytes(rim, stream, answer, method);
    case "stream":
      return sendStream(rim, stream, answer, method);
    case "object":
    case "events":
    case "tunnel":
      rim.log.error("a socket was answered with objects", {});
      return answerText(stream, { status: 500, text: "Internal Server Error" });
    default:
      answer satisfies never;
  }
}

type BytesAnswer = Extract<PlainResponse, { kind: "bytes" }>;

async function sendBytes(
  rim: Rim,
  stream: ServerHttp2Stream,
  answer: BytesAnswer,
  method: string,
): Promise<void> {
  const head = {
    ...headOf(answer.status, answer.headers),
    ...lengthOf(answer.status, answer.body),
  };
  if (!hasBody(method, answer.status) || answer.body.length === 0)
    return stream.respond(head, { endStream: true });
  stream.respond(head);
  const unsent = track(rim, stream);
  if (isOneRun(answer.body)) stream.end(answer.body[0]);
  else await sendBytesMany(rim, stream, answer, unsent);
  // An unread body (the request was refused before decoding) must not hold the stream's window.
  if (!stream.readableEnded) stream.resume();
}

async function sendBytesMany(
  rim: Rim,
  stream: ServerHttp2Stream,
  { body, moved }: BytesAnswer,
  unsent: Unsent,
): Promise<void> {
  for (const run of runsOf(body)) {
    if (stream.destroyed) return;
    if (writeTogether(stream, run)) continue;
    await untilDrained(stream);
    rim.progress.moved(unsent);
    moved?.();
  }
  if (!stream.destroyed) stream.end();
}

/** Watches the answer's progress until the stream has closed: it was sent, or the client does not wait any more. */
function track({ progress }: Rim, stream: ServerHttp2Stream): Unsent {
  const unsent = new UnsentAnswer(cuttable(progress.clock, stream));
  progress.begin(unsent);
  stream.once("close", () => progress.done(unsent));
  return unsent;
}

function sendStream(
  rim: Rim,
  stream: ServerHttp2Stream,
  answer: Extract<PlainResponse, { kind: "stream" }>,
  method: string,
): void {
  const head = headOf(answer.status, answer.headers);
  if (method === "HEAD") {
    abandon(answer);
    return stream.respond(head, { endStream: true });
  }
  stream.respond(head);
  const { progress } = rim;
  const backlog = new Backlog(progress, answer.held, cuttable(progress.clock, stream));
  const sink = streamSink(stream, backlog);
  rim.track(stream, sink, answer.open(sink));
}

function streamSink(stream: ServerHttp2Stream, backlog: Backlog): ByteSink {
  const closed = (): boolean => stream.destroyed || stream.closed || stream.writableEnded;
  return {
    write: (chunks) => {
      if (closed()) return true;
      const block = (chunks.length === 1 ? chunks[0] : undefined) ?? Buffer.concat(chunks);
      if (stream.write(block)) return true;
      backlog.add(block.length);
      return false;
    },
    onDrain: (f) =>
      void stream.once("drain", () => {
        backlog.clear();
        f();
      }),
    end: () => {
      if (!closed()) stream.end();
    },
    leave: () => {
      if (closed()) return;
      stream.end();
      // GOAWAY: other streams of the connection go on; new requests use another connection.
      stream.session?.goaway();
    },
    // `close` would end the stream cleanly well before it resets it, and the client would take the answer for complete.
    abort: () => void stream.destroy(new Error("the answer was cut")),
    get closed() {
      return closed();
    },
  };
}

function headOf(status: number, headers: Headers): Record<string, string | number | string[]> {
  const head: Record<string, string | number | string[]> = { ":status": status };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (connectionHeaders.has(lower)) continue;
    head[lower] = typeof value === "string" ? headerOf(value) : value.map(headerOf);
  }
  return head;
}

/** Refuses a request before the handler. */
function refuse(
  rim: Rim,
  peer: Peer,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  refusal: Refusal,
): void {
  const { ":method": method = "", ":path": target = "" } = headers;
  const address = peer.kind === "socket" ? peer.address : "";
  const { status, text: reason } = refusal;
  rim.refused?.({ status, reason, address, protocol: "HTTP/2.0", method, target });
  answerText(stream, refusal);
}

function answerText(stream: ServerHttp2Stream, { status, text }: Refusal): void {
  if (stream.destroyed) return;
  if (stream.headersSent) return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  stream.respond({ ":status": status, "content-type": "text/plain; charset=utf-8" });
  stream.end(`${status} ${text}`);
  // A body that is not read must not hold the stream's window.
  stream.resume();
}

/** Returns the size of a head as HTTP/2 counts it, in bytes (RFC 9113 6.5.2). */
export function headBytes(rawHeaders: readonly string[]): number {
  let bytes = rawHeaders.length * 16;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}
