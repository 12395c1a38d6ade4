/**
 * Calls to a KMS plugin: gRPC's unary calls over a unix socket.
 *
 * Holds  a call ends within the timeout, whatever the plugin does: a plugin that is away is waited for until then, as
 *        gRPC's WaitForReady. An answer above 4 MiB, grpc-go's default, is refused by its length.
 * After  upstream's kmsv2/grpc_service.go.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";
import { Code, decodeGrpcMessage, Deframer, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import {
  decryptRequest,
  decryptResponse,
  type DekSource,
  encryptRequest,
  encryptResponse,
  statusRequest,
  statusResponse,
} from "./kms-messages.ts";

const answerBytesMax = 4 * 2 ** 20;
/** Between two attempts to reach a plugin that is away. */
const reconnectMs = 100;

/** `method`: as `/v2.KeyManagementService/Status`; `code`: gRPC's, by name. */
export type ObserveCall = (method: string, code: string, seconds: number) => void;

interface KmsClientOptions {
  /** Of the socket; `\0name` in Linux's abstract namespace. */
  readonly path: string;
  readonly timeoutMs: number;
}

export class KmsClient {
  readonly #clock: Clock;
  readonly #observe: ObserveCall;
  readonly #options: KmsClientOptions;
  #session: ClientHttp2Session | undefined;
  /** Why the plugin could not be reached at the last attempt. */
  #dialFault: string | undefined;

  constructor(deps: { clock: Clock; observe: ObserveCall }, options: KmsClientOptions) {
    this.#clock = deps.clock;
    this.#observe = deps.observe;
    this.#options = options;
  }

  status = () => this.#call("Status", statusRequest, statusResponse, {});

  encrypt = (uid: string, plaintext: Uint8Array) =>
    this.#call("Encrypt", encryptRequest, encryptResponse, { uid, plaintext });

  decrypt = (uid: string, source: DekSource) => {
    const { encryptedDekSource: ciphertext, keyId, annotations } = source;
    const value = { uid, ciphertext, keyId, annotations };
    return this.#call("Decrypt", decryptRequest, decryptResponse, value);
  };

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** @throws GrpcError */
  async #call<Q, A>(
    name: string,
    request: Message<Q>,
    response: Message<A>,
    value: Input<Q>,
  ): Promise<A> {
    const method = `/v2.KeyManagementService/${name}`;
    const startMs = this.#clock.monotonicMs();
    const late = new AbortController();
    const timer = this.#clock.after("encryption.kms", this.#options.timeoutMs, () => late.abort());
    let code: Code = Code.unknown;
    try {
      const answer = decoded(
        response,
        await this.#send(method, request.encode(value, prefixBytes), late.signal),
      );
      code = Code.ok;
      return answer;
    } catch (error) {
      if (error instanceof GrpcError) ({ code } = error);
      throw error;
    } finally {
      timer.cancel();
      this.#observe(method, codeName(code), (this.#clock.monotonicMs() - startMs) / 1_000);
    }
  }

  async #send(method: string, withHeadroom: Buffer, late: AbortSignal): Promise<Buffer> {
    const message = framed(withHeadroom);
    const session = await this.#connected(late);
    return unary(session, method, message, late);
  }

  async #connected(late: AbortSignal): Promise<ClientHttp2Session> {
    while (!late.aborted) {
      const session = this.#session ?? (await this.#dial());
      if (session !== undefined && !session.closed && !session.destroyed) {
        this.#session = session;
        return session;
      }
      this.#session = undefined;
      await sleep(this.#clock, "encryption.kms", reconnectMs, late);
    }
    const why = this.#dialFault;
    const dialing = `latest balancer error: connection error: desc = "transport: Error while dialing: ${why}"`;
    throw new GrpcError(
      Code.deadlineExceeded,
      why === undefined
        ? "context deadline exceeded"
        : `context deadline exceeded while waiting for connections to become ready; ${dialing}`,
    );
  }

  /** Undefined: nobody listens. */
  #dial(): Promise<ClientHttp2Session | undefined> {
    const { path } = this.#options;
    return new Promise((resolve) => {
      const session = connect("http://localhost", {
        createConnection: () => connectSocket({ path }),
        settings: { enablePush: false },
      });
      session.unref();
      session.once("connect", () => {
        this.#dialFault = undefined;
        resolve(session);
      });
      session.on("error", (error: NodeJS.ErrnoException) => {
        this.#dialFault = `dial unix ${path}: connect: ${error.code ?? error.message}`;
        resolve(undefined);
      });
      session.once("close", () => resolve(undefined));
    });
  }
}

function decoded<A>(response: Message<A>, bytes: Buffer): A {
  try {
    return response.decode(bytes);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw new GrpcError(
      Code.internal,
      `grpc: failed to unmarshal the received message: ${error.message}`,
    );
  }
}

function unary(
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

/** One message and the status that ends the call. */
class Answer {
  readonly #deframer = new Deframer(answerBytesMax);
  #status: GrpcError | "ok" | undefined;
  #message: Buffer | undefined;
  #messages = 0;

  read(stream: ClientHttp2Stream, refuse: (error: GrpcError) => void): void {
    const see = (headers: Readonly<Record<string, unknown>>): void => this.#see(headers);
    stream.on("response", see);
    stream.on("trailers", see);
    stream.on("error", () => undefined);
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
    if (status === undefined)
      return reject(new GrpcError(Code.unavailable, "error reading from server: EOF"));
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

function codeName(code: number): string {
  return codeNames[code] ?? `Code(${code})`;
}

/** As grpc-go prints it. */
export function rpcText(error: unknown): string {
  if (!(error instanceof GrpcError)) return String(error);
  return `rpc error: code = ${codeName(error.code)} desc = ${error.message}`;
}

/** The plugin was not asked, or did not answer: another attempt may end differently. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof GrpcError &&
    (error.code === Code.unavailable || error.code === Code.deadlineExceeded)
  );
}
