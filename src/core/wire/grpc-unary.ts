/** gRPC's unary calls on an HTTP/2 session: one message in each direction, and the status that ends the call. */
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { Code, decodeGrpcMessage, Deframer, GrpcError } from "./grpc.ts";

/** grpc-go's default limit of an answer; a longer one is refused. */
const answerBytesMax = 4 * 2 ** 20;

/**
 * One call. `message`: framed (grpc.ts), given. Rejects with GrpcError: the callee's status, `unavailable` when the
 * connection broke, `deadlineExceeded` when `late` aborts.
 */
export function callUnary(
  session: ClientHttp2Session,
  method: string,
  message: Buffer,
  late: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": method,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const answer = new Answer();
    const end = (error: GrpcError): void => {
      reject(error);
      stream.destroy();
    };
    const timedOut = (): void =>
      end(new GrpcError(Code.deadlineExceeded, "context deadline exceeded"));
    if (late.aborted) return timedOut();
    late.addEventListener("abort", timedOut, { once: true });
    answer.read(stream, end);
    stream.on("close", () => {
      late.removeEventListener("abort", timedOut);
      answer.settle(resolve, reject);
    });
    stream.end(message);
  });
}

/** The message and status of a call. */
class Answer {
  readonly #deframer = new Deframer(answerBytesMax);
  /** Why the connection broke, where the host knows it: a TLS handshake that failed, a port that is closed. */
  #broken: string | undefined;
  #status: GrpcError | "ok" | undefined;
  #message: Buffer | undefined;
  #messages = 0;

  read(stream: ClientHttp2Stream, refuse: (error: GrpcError) => void): void {
    const see = (headers: Readonly<Record<string, unknown>>): void => this.#see(headers);
    stream.on("response", see);
    stream.on("trailers", see);
    stream.on("error", ({ cause }: Error) => {
      if (cause instanceof Error) this.#broken = `connection error: ${cause.message}`;
    });
    stream.on("data", (chunk: Buffer) => {
      try {
        this.#deframer.push(chunk, (bytes) => {
          if (++this.#messages === 1) this.#message = Buffer.from(bytes);
        });
      } catch (error) {
        refuse(error instanceof GrpcError ? error : new GrpcError(Code.internal, String(error)));
      }
    });
  }

  settle(resolve: (message: Buffer) => void, reject: (error: GrpcError) => void): void {
    const status = this.#status;
    if (status === undefined) {
      const why = this.#broken ?? "error reading from server: EOF";
      return reject(new GrpcError(Code.unavailable, why));
    }
    if (status !== "ok") return reject(status);
    if (this.#message === undefined || this.#messages !== 1)
      return reject(new GrpcError(Code.internal, "cardinality violation: not one message came"));
    resolve(this.#message);
  }

  #see(headers: Readonly<Record<string, unknown>>): void {
    const code = headers["grpc-status"];
    const http = headers[":status"];
    if (code === undefined) {
      if (http !== undefined && http !== 200)
        this.#status = new GrpcError(
          Code.unknown,
          `unexpected HTTP status code received from server: ${Number(http)}`,
        );
      return;
    }
    if (this.#status !== undefined) return;
    const message = headers["grpc-message"];
    const text = decodeGrpcMessage(typeof message === "string" ? message : "");
    this.#status = code === "0" ? "ok" : new GrpcError(Number(code) as Code, text);
  }
}

const codeNames = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

export function codeName(code: number): string {
  return codeNames[code] ?? `Code(${code})`;
}

/** As grpc-go prints it. */
export function rpcText(error: unknown): string {
  if (!(error instanceof GrpcError)) return String(error);
  return `rpc error: code = ${codeName(error.code)} desc = ${error.message}`;
}
