/**
 * The gRPC server: HTTP/2 streams in, calls of `call.ts` out, over TCP or TLS.
 *
 * G1  A stream is answered at most once, and never touched after it is closed.
 * G2  A request's length is bounded before it is kept; streams, connections and watches have limits.
 * G3  A call whose client no longer waits is ended; its write may still be made.
 */
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { grpcOkTrailers, grpcRefusal, httpHead } from "#wire/grpc-frames.ts";
import { Code, Deframer, encodeGrpcMessage, framed, GrpcError } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import type { Method, ServerStream, StreamEnd } from "./call.ts";
import { deadlineExceeded, isGrpc, refuseHead, timeoutMs, type CallHead } from "./call-head.ts";
import { H2Connection, type H2Limits } from "./h2-connection.ts";
import type { H2Stream } from "./h2-stream.ts";
import type { HttpFace } from "./http-face.ts";
import { http1Server, tellProtocol } from "./port.ts";

export interface ServerLimits extends H2Limits {
  /** A message of more bytes ends its call: etcd's request limit and its overhead. */
  readonly messageBytesMax: number;
  /** A connection beyond it is closed at once. */
  readonly connectionsMax: number;
}

export const recommendedServerLimits = {
  messageBytesMax: 2 * 2 ** 20,
  // Beyond it, a client's further calls on that connection wait, as HTTP/2 says.
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

export interface ServerDeps {
  readonly methods: ReadonlyMap<string, Method>;
  /** What is answered to plain HTTP. */
  readonly http: HttpFace;
  readonly clock: Clock;
  readonly log: Log;
}

export async function listenEtcd(deps: ServerDeps, options: ListenOptions): Promise<EtcdListening> {
  const { limits, tls } = options;
  const served = { ...deps, limits, plainHttp2: tls !== undefined };
  const connections = new Map<Socket, H2Connection | undefined>();
  const http1 = http1Server(deps.http);
  const server = makeServer(deps, options, (socket) => {
    if (connections.size >= limits.connectionsMax) {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    connections.set(socket, undefined);
    socket.on("close", () => connections.delete(socket));
    tellProtocol(socket, http1, () => {
      const connection = new H2Connection(socket, deps.clock, limits, (stream, head) =>
        serve(served, stream, head),
      );
      connections.set(socket, connection);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const [socket, connection] of connections) {
          if (connection === undefined) socket.destroy();
          else connection.close();
        }
      }),
  };
}

function makeServer(
  deps: ServerDeps,
  { tls }: ListenOptions,
  connected: (socket: Socket) => void,
): Server {
  if (tls === undefined) return createServer(connected);
  const { cert, key, clientCa } = tls;
  const server = createTlsServer(
    {
      cert,
      key,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2", "http/1.1"],
      ...(clientCa === undefined
        ? {}
        : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
    },
    connected,
  );
  server.on("tlsClientError", tellRefused(deps));
  return server;
}

const tellEveryMs = 1000;

/**
 * A handshake that failed: its socket is closed already. A client without a certificate was told why
 * by an alert; one whose certificate is of somebody else hears nothing, for the host checks that when
 * the handshake is over. So the log says it, a line a second at most.
 */
function tellRefused({ clock, log }: ServerDeps): (error: Error, socket: TLSSocket) => void {
  let quietUntilMs = 0;
  return (error, { authorizationError, remoteAddress }) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + tellEveryMs;
    // OpenSSL's own words, without its file names.
    const { reason = error.message } = error as { readonly reason?: string };
    const why = String(authorizationError ?? reason);
    log.warn("a connection was refused in its TLS handshake", { peer: remoteAddress, why });
  };
}

interface Served extends ServerDeps {
  readonly limits: ServerLimits;
  /** Plain HTTP is spoken over HTTP/2 too: as in etcd, only where TLS told the protocols apart. */
  readonly plainHttp2: boolean;
}

/** What its client waits for less long is not worth beginning: it has given up already. */
const timeoutMsLeast = 0.01;

function serve(served: Served, stream: H2Stream, head: CallHead): void {
  if (served.plainHttp2 && !isGrpc(head)) return serveHttp(served, stream, head);
  const refused = refuseHead(head);
  if (refused !== undefined) {
    const { status, code, message } = refused;
    return stream.end(grpcRefusal(status, code, encodeGrpcMessage(message)));
  }
  const method = served.methods.get(head.path);
  const call = new Call(stream, served.log, head.path);
  if (timeoutMs(head) < timeoutMsLeast) call.fail(deadlineExceeded());
  else if (method === undefined) call.fail(unknownMethod(served.methods, head.path));
  else if (method.kind === "unary") serveUnary(served, call, head, method.answer);
  else serveStream(served, call, head, method.open);
}

function serveHttp({ http }: Served, stream: H2Stream, { method, path }: CallHead): void {
  const { status, headers, body } = http(method, path);
  stream.take = { data: () => undefined, ended: () => undefined, closed: () => undefined };
  stream.reply(httpHead(status, headers), method === "HEAD" ? Buffer.alloc(0) : body);
}

/** In the words of grpc-go. */
function unknownMethod(methods: ReadonlyMap<string, Method>, path: string): GrpcError {
  const slash = path.lastIndexOf("/");
  if (slash < (path.startsWith("/") ? 1 : 0)) {
    const text = `malformed method name: ${JSON.stringify(path)}`;
    return new GrpcError(Code.unimplemented, text);
  }
  const service = path.slice(path.startsWith("/") ? 1 : 0, slash);
  const known = methods.keys().some((one) => one.startsWith(`/${service}/`));
  const text = known
    ? `unknown method ${path.slice(slash + 1)} for service ${service}`
    : `unknown service ${service}`;
  return new GrpcError(Code.unimplemented, text);
}

/** One stream of HTTP/2 as the services see it. */
class Call implements ServerStream {
  readonly stream: H2Stream;
  readonly #log: Log;
  readonly #path: string;

  constructor(stream: H2Stream, log: Log, path: string) {
    this.stream = stream;
    this.#log = log;
    this.#path = path;
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  get backlogBytes(): number {
    return this.stream.backlogBytes;
  }

  send(withHeadroom: Buffer): void {
    this.stream.send(framed(withHeadroom));
  }

  sendPieces(pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.stream.send(piece);
  }

  onDrain(f: () => void): void {
    this.stream.onDrain(f);
  }

  end(): void {
    this.stream.sendHead();
    this.stream.end(grpcOkTrailers);
  }

  fail(error: unknown): void {
    const { code, message } = this.#errorOf(error);
    this.stream.fail(code, message);
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
  served: Served,
  call: Call,
  head: CallHead,
  answer: Extract<Method, { kind: "unary" }>["answer"],
): void {
  const deframer = new Deframer(served.limits.messageBytesMax, head.encoding);
  const { stream } = call;
  let answered = false;
  let deadline: Timer | undefined;
  const arm = (): void => {
    if (!stream.closed) deadline ??= armDeadline(served, call, head);
  };
  const fail = (error: unknown): void => call.fail(error);
  const take = (message: Buffer): void => {
    // One message is one call; what else comes is dropped.
    if (answered) return;
    answered = true;
    const frame = answer(message);
    if (Buffer.isBuffer(frame)) return stream.answer(frame);
    if (!(frame instanceof Promise)) return stream.answerPieces(frame);
    arm();
    frame.then((bytes) => stream.answer(bytes), fail);
  };
  // The message mostly comes in the same packet, and many are answered at once: no timer for those.
  if (head.timeout !== "") {
    queueMicrotask(() => {
      if (!answered) arm();
    });
  }
  stream.take = {
    data: (bytes) => {
      if (stream.closed) return;
      try {
        deframer.push(bytes, take);
      } catch (error) {
        fail(error);
      }
    },
    ended: () => {
      if (!answered) fail(endedEarly(deframer));
    },
    closed: () => deadline?.cancel(),
  };
}

/** In the words of grpc-go, which passes on what its reader says. */
function endedEarly({ partial }: Deframer): GrpcError {
  return new GrpcError(Code.unknown, partial ? "unexpected EOF" : "EOF");
}

/** Long waits end a little late, so that the host keeps few timers of different lengths. */
function armDeadline({ clock }: Served, call: Call, head: CallHead): Timer | undefined {
  const waitMs = timeoutMs(head);
  if (waitMs > timerMsMax) return undefined;
  const delayMs = waitMs < 1000 ? Math.ceil(waitMs) : Math.ceil(waitMs / 100) * 100;
  return clock.after("etcd.deadline", delayMs, () => call.fail(deadlineExceeded()));
}

/** Nobody waits a day for an answer, and hosts count delays in 31 bits. */
const timerMsMax = 24 * 3600 * 1000;

function serveStream(
  served: Served,
  call: Call,
  head: CallHead,
  open: (call: ServerStream) => StreamEnd,
): void {
  const deframer = new Deframer(served.limits.messageBytesMax, head.encoding);
  const { stream } = call;
  // A client waits for the head before it believes that its stream is open.
  stream.sendHead();
  const end = open(call);
  const deadline = armDeadline(served, call, head);
  const take = (message: Buffer): void => {
    if (!call.closed) end.message(message);
  };
  const orFail = (step: () => void): void => {
    if (call.closed) return;
    try {
      step();
    } catch (error) {
      call.fail(streamError(error));
    }
  };
  stream.take = {
    data: (bytes) => orFail(() => deframer.push(bytes, take)),
    ended: () =>
      orFail(() => {
        if (deframer.partial) throw new GrpcError(Code.internal, "unexpected EOF");
        end.halfClosed();
      }),
    closed: () => {
      deadline?.cancel();
      end.closed();
    },
  };
}

/** grpc-go's streams have another wording for the same. */
function streamError(error: unknown): unknown {
  if (!(error instanceof ProtobufError)) return error;
  const message = `grpc: failed to unmarshal the received message: ${error.message}`;
  return new GrpcError(Code.internal, message);
}
