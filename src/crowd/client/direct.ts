/**
 * The direct transport: a Client that calls the server's handler chain in this process. No socket,
 * no bytes: bodies and answers are frozen objects, shared by reference with the server's caches.
 *
 * The caller vouches for `user`; authorisation, admission and flow control run as they do for a socket.
 */
import { parseExactJson } from "#base/exact-json.ts";
import type { AnyObject } from "#api/object.ts";
import { deepFreeze } from "./freeze.ts";
import type {
  Headers,
  PlainBody,
  PlainHandler,
  PlainRequest,
  PlainResponse,
  UserInfo,
} from "#platform/http.ts";
import type { Client, WatchedEvent } from "./client.ts";
import type { ApiRequest, Transport } from "./transport.ts";
import { apiErrorOf, tooLongAnswer } from "./transport.ts";
import { joinBytes } from "./json-frames.ts";
import { verbsClient } from "./verbs.ts";
import { watchFrames } from "./watch-frames.ts";

type Deliver = (events: readonly WatchedEvent<AnyObject>[]) => void;

/** Within a process the peer is trusted; the limit only stops an endless stream. */
const frameBytesMax = 64 * 1024 * 1024;

/** The server names field managers after the first part of `userAgent`. Absent: after the user. */
export function directClient(
  handler: PlainHandler,
  user: UserInfo,
  userAgent = userAgentOf(user),
): Client {
  return verbsClient(directExchange(handler, user, userAgent));
}

function directExchange(handler: PlainHandler, user: UserInfo, userAgent: string): Transport {
  return {
    async call(request) {
      const signal = request.signal ?? new AbortController().signal;
      const response = await handler(plainRequest(request, user, userAgent, signal));
      return directAnswer(response, request.bodyBytesMax);
    },
    async watch(request, deliver) {
      const signal = request.signal ?? new AbortController().signal;
      const response = await handler(plainRequest(request, user, userAgent, signal));
      await directWatch(response, signal, deliver);
    },
  };
}

function plainRequest(
  request: ApiRequest,
  user: UserInfo,
  userAgent: string,
  signal: AbortSignal,
): PlainRequest {
  const body: PlainBody =
    request.body === undefined
      ? { kind: "none" }
      : { kind: "object", object: deepFreeze(request.body) };
  const { method, path, query, contentType } = request;
  const accept = { accept: request.accept, "user-agent": userAgent };
  const headers = body.kind === "none" ? accept : { ...accept, "content-type": contentType };
  return { method, path, query, headers, body, peer: { kind: "direct", user }, signal };
}

/** `x/pilothouse` for user `system:x`. */
function userAgentOf(user: UserInfo): string {
  return `${user.name.slice(user.name.lastIndexOf(":") + 1)}/pilothouse`;
}

async function directAnswer(response: PlainResponse, bodyBytesMax?: number): Promise<unknown> {
  const body = await directBody(response, bodyBytesMax);
  if (response.status < 400) return body;
  throw apiErrorOf(response.status, body, headerOf(response.headers, "retry-after"));
}

/** Without a limit unless the caller sets one, because the peer is trusted. */
async function directBody(
  response: PlainResponse,
  bodyBytesMax = Number.POSITIVE_INFINITY,
): Promise<unknown> {
  switch (response.kind) {
    case "object":
      return response.object;
    case "bytes":
      return textOrJson(withinBound(joinBytes(response.body), bodyBytesMax));
    case "stream":
      return textOrJson(await collect(response, bodyBytesMax));
    case "tunnel":
      throw new TypeError("the server answered a plain request with a tunnel");
    case "events":
      response.open({ deliver() {}, end() {} })();
      throw new TypeError("the server answered a plain request with a watch");
    default:
      return response satisfies never;
  }
}

function directWatch(
  response: PlainResponse,
  signal: AbortSignal,
  deliver: Deliver,
): Promise<void> {
  if (
    response.status >= 400 ||
    response.kind === "object" ||
    response.kind === "bytes" ||
    response.kind === "tunnel"
  ) {
    return directAnswer(response).then(() => {
      throw new TypeError("the server answered a watch with an object");
    });
  }
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve, reject) => {
    let done = false;
    let close = (): void => {};
    const end = (error?: Error): void => {
      if (done) return;
      done = true;
      signal.removeEventListener("abort", abort);
      if (error === undefined) resolve();
      else reject(error);
    };
    const abort = (): void => {
      close();
      end();
    };
    signal.addEventListener("abort", abort, { once: true });
    close = openWatch(response, deliver, () => done, end);
    // The handler of the first batch may have aborted before there was a stream to close.
    if (signal.aborted) close();
  });
}

/** Starts the stream. Events after its end are dropped, so nothing is delivered after an abort. */
function openWatch(
  response: Extract<PlainResponse, { kind: "events" | "stream" }>,
  deliver: Deliver,
  isDone: () => boolean,
  end: (error?: Error) => void,
): () => void {
  if (response.kind === "events") {
    return response.open({
      deliver: (events) => {
        // The server froze the events; WatchedEvent and ObjectEvent have the same shape.
        if (!isDone()) deliver(events as readonly WatchedEvent<AnyObject>[]);
      },
      end: () => end(),
    });
  }
  const take = watchFrames(frameBytesMax, deliver);
  return response.open(
    byteSink((chunk) => {
      if (isDone()) return;
      try {
        take(chunk);
      } catch (error) {
        end(error instanceof Error ? error : new Error("watch failed", { cause: error }));
      }
    }, end),
  );
}

function byteSink(take: (chunk: Uint8Array) => void, end: () => void) {
  let closed = false;
  return {
    write(chunks: readonly Uint8Array[]): boolean {
      for (const chunk of chunks) take(chunk);
      return true;
    },
    onDrain(): void {},
    end(): void {
      closed = true;
      end();
    },
    get closed(): boolean {
      return closed;
    },
  };
}

function withinBound(bytes: Uint8Array, bodyBytesMax: number): Uint8Array {
  if (bytes.length > bodyBytesMax) throw tooLongAnswer(bodyBytesMax);
  return bytes;
}

function collect(
  response: Extract<PlainResponse, { kind: "stream" }>,
  bodyBytesMax: number,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    let close = (): void => {};
    const take = (chunk: Uint8Array): void => {
      size += chunk.length;
      if (size <= bodyBytesMax) return void chunks.push(chunk);
      chunks.length = 0;
      reject(tooLongAnswer(bodyBytesMax));
      close();
    };
    close = response.open(byteSink(take, () => resolve(joinBytes(chunks))));
    // The limit may have been exceeded while the stream was opened.
    if (size > bodyBytesMax) close();
  });
}

/** Parses JSON, and returns any other body as text: `/readyz` answers `ok`. */
export function textOrJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes);
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return text;
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}
