/**
 * The gRPC server: node:http2 streams in, calls of `call.ts` out.
 *
 * G1  A stream is answered at most once, and never touched after it is destroyed.
 * G2  A request's length is bounded before it is kept; streams, connections and watches have limits.
 * Cost   about 25 us a unary call, nearly all of it in node:http2.
 */
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { Log } from "#platform/log.ts";
import { Code, Deframer, encodeGrpcMessage, framed, GrpcError } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import type { Method, ServerStream, StreamEnd } from "./call.ts";

export interface ServerLimits {
  /** A message of more bytes ends its call: etcd's request limit and its overhead. */
  readonly messageBytesMax: number;
  /** Beyond it, a client's further calls on that connection wait, as HTTP/2 says. */
  readonly streamsPerConnectionMax: number;
  readonly connectionsMax: number;
}

export const recommendedServerLimits = {
  messageBytesMax: 2 * 2 ** 20,
  streamsPerConnectionMax: 10_000,
  connectionsMax: 10_000,
} as const satisfies ServerLimits;

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  readonly limits: ServerLimits;
}

export interface EtcdListening {
  readonly port: number;
  /** Ends every connection; calls on their way are cut off, their writes may still be made. */
  close(): Promise<void>;
}

/** Per stream and per connection, so that a 1.5 MiB put does not wait for window updates. */
const windowBytes = 2 * 2 ** 20;
/** Megabytes; Node's default of 10 resets streams of a connection that carries many. */
const sessionMemoryMax = 1024;
/** Watches are cancelled by reset; Node's default of 33 a second is for strangers. */
const resets = { streamResetBurst: 100_000, streamResetRate: 10_000 };

export async function listenEtcd(
  methods: ReadonlyMap<string, Method>,
  log: Log,
  options: ListenOptions,
): Promise<EtcdListening> {
  const sessions = new Set<ServerHttp2Session>();
  const server = makeServer(options);
  const refuseOver = options.limits.connectionsMax;
  server.on("session", (session: ServerHttp2Session) => {
    if (sessions.size >= refuseOver) return session.close();
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", (error) => log.debug("a connection broke", { error: String(error) }));
    session.setLocalWindowSize(windowBytes * 4);
  });
  server.on("sessionError", (error: Error) => log.debug("session", { error: String(error) }));
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    serve(methods, log, options.limits, stream, headers);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function makeServer({ tls, limits }: ListenOptions): Http2Server | Http2SecureServer {
  const http2 = {
    maxSessionMemory: sessionMemoryMax,
    ...resets,
    settings: {
      initialWindowSize: windowBytes,
      maxConcurrentStreams: limits.streamsPerConnectionMax,
    },
  };
  if (tls === undefined) return createServer(http2);
  const { cert, key, clientCa } = tls;
  return createSecureServer({
    ...http2,
    cert,
    key,
    minVersion: "TLSv1.2",
    ...(clientCa === undefined
      ? {}
      : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  });
}

const okHead = { ":status": 200, "content-type": "application/grpc" } as const;
const okTrailers = { "grpc-status": "0" } as const;
const withTrailers = { waitForTrailers: true } as const;

function serve(
  methods: ReadonlyMap<string, Method>,
  log: Log,
  limits: ServerLimits,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const path = headers[":path"] ?? "";
  const type = headers["content-type"] ?? "";
  if (!type.startsWith("application/grpc") || headers[":method"] !== "POST") {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 415, "content-type": "text/plain" });
    stream.end("this port speaks gRPC\n");
    return;
  }
  const call = new Call(stream, log, path);
  const method = methods.get(path);
  if (method === undefined) call.fail(unknownMethod(methods, path));
  else if (method.kind === "unary") serveUnary(call, method.answer, limits);
  else serveStream(call, method.open, limits);
}

/** In the words of grpc-go. */
function unknownMethod(methods: ReadonlyMap<string, Method>, path: string): GrpcError {
  const slash = path.lastIndexOf("/");
  const service = path.slice(1, slash);
  const known = methods.keys().some((one) => one.startsWith(`/${service}/`));
  const text = known
    ? `unknown method ${path.slice(slash + 1)} for service ${service}`
    : `unknown service ${service}`;
  return new GrpcError(Code.unimplemented, text);
}

/** One stream of HTTP/2, and its one answer. */
class Call implements ServerStream {
  readonly stream: ServerHttp2Stream;
  readonly #log: Log;
  readonly #path: string;

  constructor(stream: ServerHttp2Stream, log: Log, path: string) {
    this.stream = stream;
    this.#log = log;
    this.#path = path;
    stream.on("error", () => undefined);
  }

  get closed(): boolean {
    return this.stream.destroyed || this.stream.closed || this.stream.writableEnded;
  }

  get backlogBytes(): number {
    return this.stream.writableLength;
  }

  answer(frame: Buffer): void {
    const { stream } = this;
    if (this.closed) return;
    this.#head();
    stream.end(frame);
  }

  send(withHeadroom: Buffer): void {
    if (this.closed) return;
    this.#head();
    this.stream.write(framed(withHeadroom));
  }

  /** Headers at once: a client waits for them before it believes that its stream is open. */
  open(): void {
    if (!this.closed) this.#head();
  }

  onDrain(f: () => void): void {
    if (this.closed) return;
    if (this.stream.writableNeedDrain) this.stream.once("drain", f);
    else setImmediate(f);
  }

  end(): void {
    if (this.closed) return;
    this.#head();
    this.stream.end();
  }

  fail(error: unknown): void {
    if (this.closed) return;
    const { code, message } = this.#errorOf(error);
    const trailers = { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
    if (this.stream.headersSent) {
      this.#trailers = trailers;
      this.stream.end();
    } else this.stream.respond({ ...okHead, ...trailers }, { endStream: true });
    // What the client still sends is read and dropped. A reset would be tidier, but node:http2 lets
    // it overtake the answer, and clients then report the reset.
    this.stream.resume();
  }

  #trailers: Readonly<Record<string, string>> = okTrailers;

  #head(): void {
    if (this.stream.headersSent) return;
    this.stream.respond(okHead, withTrailers);
    this.stream.on("wantTrailers", () => {
      if (!this.stream.destroyed) this.stream.sendTrailers(this.#trailers);
    });
  }

  #errorOf(error: unknown): { readonly code: Code; readonly message: string } {
    if (error instanceof GrpcError) return error;
    if (error instanceof ProtobufError) {
      const message = `grpc: error unmarshalling request: ${error.message}`;
      return { code: Code.internal, message };
    }
    this.#log.error("a call failed", { path: this.#path, error: String(error) });
    return { code: Code.internal, message: "internal error" };
  }
}

function serveUnary(
  call: Call,
  answer: (request: Buffer) => Buffer | Promise<Buffer>,
  limits: ServerLimits,
): void {
  const deframer = new Deframer(limits.messageBytesMax);
  const fail = (error: unknown): void => call.fail(error);
  const take = (message: Buffer): void => {
    const frame = answer(message);
    if (frame instanceof Promise) frame.then((bytes) => call.answer(bytes), fail);
    else call.answer(frame);
  };
  call.stream.on("data", (chunk: Buffer) => {
    if (call.closed) return;
    try {
      deframer.push(chunk, take);
    } catch (error) {
      fail(error);
    }
  });
}

function serveStream(
  call: Call,
  open: (call: ServerStream) => StreamEnd,
  limits: ServerLimits,
): void {
  const deframer = new Deframer(limits.messageBytesMax);
  call.open();
  const end = open(call);
  const take = (message: Buffer): void => {
    if (!call.closed) end.message(message);
  };
  call.stream.on("data", (chunk: Buffer) => {
    if (call.closed) return;
    try {
      deframer.push(chunk, take);
    } catch (error) {
      call.fail(error);
    }
  });
  call.stream.on("end", () => end.halfClosed());
  call.stream.on("close", () => end.closed());
}
