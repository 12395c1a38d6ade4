/** Calls gRPC methods over the fake network. A request is copied, and an answer loses its frame on arrival. */
import { Buffer } from "node:buffer";
import type { Method, ServerStream, StreamEnd } from "#etcd/call.ts";
import type {
  ClientStream,
  FakeConnection,
  FakeNetwork,
  FakeStream,
  StreamClient,
} from "#platform/testing/network.ts";
import { GrpcError, prefixBytes } from "#wire/grpc.ts";

export type Methods = ReadonlyMap<string, Method>;
export type GrpcNetwork = FakeNetwork<Methods>;
export type GrpcConnection = FakeConnection<Methods>;

type Frame = Buffer | readonly Buffer[];

/** @returns the answer without its frame. Rejects with GrpcError or ConnectionLost. */
export function callMethod(
  connection: GrpcConnection,
  path: string,
  request: Buffer,
): Promise<Buffer> {
  const method = connection.server.get(path);
  if (method?.kind !== "unary") throw new Error(`${path} is not a unary method`);
  return connection.call(() => answered(method.answer, request), unframed);
}

async function answered(
  answer: (request: Buffer) => Frame | Promise<Frame>,
  request: Buffer,
): Promise<Frame> {
  return answer(Buffer.from(request));
}

/** Joins the pieces on arrival, like a socket: they are views that must stay valid until then. */
function unframed(frame: Frame): Buffer {
  const whole = Buffer.isBuffer(frame) ? frame : Buffer.concat(frame);
  return whole.subarray(prefixBytes);
}

/** `slowMs`: time that the client takes per message. */
export function openStream(
  connection: GrpcConnection,
  path: string,
  client: StreamClient<Buffer>,
  slowMs: number,
): ClientStream {
  const method = connection.server.get(path);
  if (method?.kind !== "stream") throw new Error(`${path} is not a stream`);
  const taking: StreamClient<Frame> = {
    message: (frame, sentMs) => client.message(unframed(frame), sentMs),
    closed: (error) => client.closed(error),
  };
  return connection.open(taking, slowMs, (stream) => {
    const call = new GrpcStream(stream);
    const server = method.open(call);
    return {
      message: (bytes) => deliver(server, bytes, call),
      closed: () => server.closed(),
    };
  });
}

function deliver(server: StreamEnd, bytes: Uint8Array, call: GrpcStream): void {
  try {
    server.message(Buffer.from(bytes));
  } catch (error) {
    call.fail(error);
  }
}

/** Adapts a fake stream to the interface of the services. */
class GrpcStream implements ServerStream {
  readonly #stream: FakeStream<Frame>;

  constructor(stream: FakeStream<Frame>) {
    this.#stream = stream;
  }

  get backlogBytes(): number {
    return this.#stream.backlogBytes;
  }

  get isClosed(): boolean {
    return this.#stream.isClosed;
  }

  send(withHeadroom: Buffer): void {
    this.#stream.send(withHeadroom, withHeadroom.length);
  }

  sendPieces(pieces: readonly Buffer[]): void {
    this.#stream.send(
      pieces,
      pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
  }

  onDrain(f: () => void): void {
    this.#stream.onDrain(f);
  }

  end(): void {
    this.#stream.finish(undefined);
  }

  fail(error: unknown): void {
    if (!(error instanceof GrpcError)) throw error;
    this.#stream.finish(error);
  }
}
