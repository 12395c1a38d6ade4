/**
 * gRPC's unary calls, the server's half, on an HTTP/2 server of the host.
 *
 * Holds  a request's message is refused by its length before it is kept; a call ends with one status.
 * Bounds `callsMax` calls at a time, `messageBytesMax` a message; beyond them: RESOURCE_EXHAUSTED.
 */
import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Code, Deframer, encodeGrpcMessage, framed, GrpcError, prefixBytes } from "./grpc.ts";
import type { Input, Message } from "./etcd-codec.ts";
import { ProtobufError } from "./protobuf.ts";

const messageBytesMax = 4 * 2 ** 20;
const callsMax = 256;

/** Takes one message without its prefix and returns the framed answer. Throws GrpcError. */
export type UnaryHandler = (message: Buffer) => Promise<Buffer>;

/** Wraps `serve` with decoding and encoding. */
export function unaryHandler<Q, A>(
  method: { readonly request: Message<Q>; readonly response: Message<A> },
  serve: (request: Q) => Input<A> | Promise<Input<A>>,
): UnaryHandler {
  return async (bytes) => {
    let request: Q;
    try {
      request = method.request.decode(bytes);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      const text = `grpc: error unmarshalling request: ${error.message}`;
      throw new GrpcError(Code.internal, text);
    }
    return framed(method.response.encode(await serve(request), prefixBytes));
  };
}

/** Serves streams of an HTTP/2 server by the path of their method. */
export class GrpcServer {
  readonly #handlers: ReadonlyMap<string, UnaryHandler>;
  #calls = 0;

  constructor(handlers: ReadonlyMap<string, UnaryHandler>) {
    this.#handlers = handlers;
  }

  /** Handles the event `stream`. */
  serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", () => undefined);
    const handler = this.#handlers.get(String(headers[":path"]));
    if (handler === undefined) {
      const text = `unknown method ${String(headers[":path"])}`;
      return refuse(stream, new GrpcError(Code.unimplemented, text));
    }
    if (this.#calls >= callsMax) {
      const text = `more than ${callsMax} calls at a time`;
      return refuse(stream, new GrpcError(Code.resourceExhausted, text));
    }
    this.#calls++;
    stream.once("close", () => this.#calls--);
    void this.#answer(stream, headers, handler);
  }

  /** Never rejects. */
  async #answer(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    handler: UnaryHandler,
  ): Promise<void> {
    try {
      const answer = await handler(await readMessage(stream, headers));
      if (stream.destroyed) return;
      stream.respond(
        { ":status": 200, "content-type": "application/grpc" },
        { waitForTrailers: true },
      );
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(answer);
    } catch (error) {
      const known = error instanceof GrpcError ? error : new GrpcError(Code.unknown, String(error));
      refuse(stream, known);
    }
  }
}

function readMessage(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<Buffer> {
  const deframer = new Deframer(messageBytesMax, String(headers["grpc-encoding"] ?? ""));
  return new Promise((resolve, reject) => {
    let message: Buffer | undefined;
    stream.on("data", (chunk: Buffer) => {
      try {
        deframer.push(chunk, (whole) => (message ??= Buffer.from(whole)));
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    stream.once("end", () => {
      if (message !== undefined) resolve(message);
      else reject(new GrpcError(Code.internal, "grpc: no message came"));
    });
    stream.once("close", () => reject(new GrpcError(Code.cancelled, "the call was cancelled")));
  });
}

/** Sends a status without a message: gRPC's Trailers-Only. */
function refuse(stream: ServerHttp2Stream, error: GrpcError): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": String(error.code),
      "grpc-message": encodeGrpcMessage(error.message),
    },
    { endStream: true },
  );
  stream.resume();
}
