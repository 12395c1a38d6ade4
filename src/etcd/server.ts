/**
 * The gRPC server: HTTP/2 streams in, calls of `call.ts` out, over TCP or TLS.
 *
 * G1  A stream is answered at most once, and never touched after it is closed.
 * G2  A request's length is bounded before it is kept; streams, connections and watches have limits.
 */
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Log } from "#platform/log.ts";
import { grpcOkTrailers } from "#wire/grpc-frames.ts";
import { Code, Deframer, framed, GrpcError } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import type { Method, ServerStream, StreamEnd } from "./call.ts";
import { H2Connection, type H2Limits } from "./h2-connection.ts";
import type { H2Stream } from "./h2-stream.ts";

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

export async function listenEtcd(
  methods: ReadonlyMap<string, Method>,
  log: Log,
  options: ListenOptions,
): Promise<EtcdListening> {
  const { limits } = options;
  const connections = new Set<H2Connection>();
  const server = makeServer(options, (socket) => {
    if (connections.size >= limits.connectionsMax) {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    const connection = new H2Connection(socket, limits, (stream, head) => {
      if (head.method === "POST" && head.contentType.startsWith("application/grpc")) {
        serve({ methods, log, limits }, stream, head.path);
      } else stream.fail(Code.internal, "this port speaks gRPC");
    });
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
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
        for (const connection of connections) connection.close();
      }),
  };
}

function makeServer({ tls }: ListenOptions, connected: (socket: Socket) => void): Server {
  if (tls === undefined) return createServer(connected);
  const { cert, key, clientCa } = tls;
  const server = createTlsServer(
    {
      cert,
      key,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2"],
      ...(clientCa === undefined
        ? {}
        : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
    },
    connected,
  );
  // A handshake that failed is the client's affair; its socket is closed already.
  server.on("tlsClientError", () => undefined);
  return server;
}

interface Served {
  readonly methods: ReadonlyMap<string, Method>;
  readonly log: Log;
  readonly limits: ServerLimits;
}

function serve(served: Served, stream: H2Stream, path: string): void {
  const method = served.methods.get(path);
  const call = new Call(stream, served.log, path);
  if (method === undefined) call.fail(unknownMethod(served.methods, path));
  else if (method.kind === "unary") serveUnary(call, method.answer, served.limits);
  else serveStream(call, method.open, served.limits);
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
  call: Call,
  answer: Extract<Method, { kind: "unary" }>["answer"],
  limits: ServerLimits,
): void {
  const deframer = new Deframer(limits.messageBytesMax);
  const { stream } = call;
  let answered = false;
  const fail = (error: unknown): void => call.fail(error);
  const take = (message: Buffer): void => {
    // One message is one call; what else comes is dropped.
    if (answered) return;
    answered = true;
    const frame = answer(message);
    if (frame instanceof Promise) frame.then((bytes) => stream.answer(bytes), fail);
    else if (Buffer.isBuffer(frame)) stream.answer(frame);
    else stream.answerPieces(frame);
  };
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
      if (!answered) fail(new GrpcError(Code.internal, "a request without a message"));
    },
    closed: () => undefined,
  };
}

function serveStream(
  call: Call,
  open: (call: ServerStream) => StreamEnd,
  limits: ServerLimits,
): void {
  const deframer = new Deframer(limits.messageBytesMax);
  const { stream } = call;
  // A client waits for the head before it believes that its stream is open.
  stream.sendHead();
  const end = open(call);
  const take = (message: Buffer): void => {
    if (!call.closed) end.message(message);
  };
  stream.take = {
    data: (bytes) => {
      if (call.closed) return;
      try {
        deframer.push(bytes, take);
      } catch (error) {
        call.fail(error);
      }
    },
    ended: () => end.halfClosed(),
    closed: () => end.closed(),
  };
}
