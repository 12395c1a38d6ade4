/**
 * Calls to a KMS plugin: gRPC's unary calls over a unix socket.
 *
 * Holds  a call ends within the timeout, whatever the plugin does: a plugin that is away is waited for until then, as
 *        gRPC's WaitForReady. An answer above 4 MiB, grpc-go's default, is refused by its length.
 * After  upstream's kmsv2/grpc_service.go.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";
import { Code, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { callUnary, codeName } from "#wire/grpc-unary.ts";
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

/** Time between two attempts to reach a plugin that is unreachable. */
const reconnectMs = 100;

/** Called for each call. `method`: such as `/v2.KeyManagementService/Status`; `code`: name of the gRPC code. */
export type ObserveCall = (method: string, code: string, seconds: number) => void;

interface KmsClientOptions {
  /** Path of the socket; `\0name` in Linux's abstract namespace. */
  readonly path: string;
  readonly timeoutMs: number;
}

export class KmsClient {
  readonly #clock: Clock;
  readonly #observe: ObserveCall;
  readonly #options: KmsClientOptions;
  #session: ClientHttp2Session | undefined;
  /** Why the last attempt to reach the plugin failed. */
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
    return callUnary(session, method, message, late);
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

  /** Connects to the plugin. Undefined: the connection failed. */
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

/** Whether the plugin was not reached, or did not answer: another attempt may succeed. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof GrpcError &&
    (error.code === Code.unavailable || error.code === Code.deadlineExceeded)
  );
}
