/** Connection to NATS and one of its streams. The official client library is loaded when a sink needs it. */
import { given } from "#base/given.ts";
import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { trusting } from "#platform/node/trust.ts";
import { loadLibrary } from "./library.ts";

export interface NatsTarget {
  readonly servers: readonly string[];
  /** Returns the contents of a credentials file; read when the connection is made. */
  readonly credentials: (() => string) | undefined;
  /** PEM certificates of the servers' authorities. Undefined: those of the host, if the server requires TLS. */
  readonly ca: string | undefined;
}

interface StreamTarget extends NatsTarget {
  readonly stream: string;
  readonly subjects: string;
  readonly keepPerSubject: number | undefined;
}

export interface StreamEnd {
  readonly sequence: number;
  readonly messages: number;
  /** Headers of the newest message. Undefined: the stream is empty. */
  readonly headers: MsgHdrs | undefined;
}

const connectMs = 10_000;
const answerMs = 15_000;
/** Number of messages per pull of headers. */
const pullMessages = 1_000;

interface Libraries {
  readonly transport: typeof import("@nats-io/transport-node");
  readonly jetstream: typeof import("@nats-io/jetstream");
}

export class JetStreamConnection {
  readonly #libraries: Libraries;
  readonly #nats: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #client: JetStreamClient;
  readonly #stream: string;

  private constructor(
    libraries: Libraries,
    nats: NatsConnection,
    manager: JetStreamManager,
    stream: string,
  ) {
    this.#libraries = libraries;
    this.#nats = nats;
    this.#manager = manager;
    this.#client = manager.jetstream();
    this.#stream = stream;
  }

  static async open(target: StreamTarget, signal: AbortSignal): Promise<JetStreamConnection> {
    const transport = await loadLibrary(
      "@nats-io/transport-node",
      () => import("@nats-io/transport-node"),
    );
    const jetstream = await loadLibrary("@nats-io/jetstream", () => import("@nats-io/jetstream"));
    const { servers, credentials, ca, stream } = target;
    const nats = await transport.connect({
      servers: [...servers],
      // A session ends with its connection, so the library must not reconnect and send messages again.
      reconnect: false,
      timeout: connectMs,
      ...(ca === undefined ? {} : { tls: trusting(ca) }),
      ...(credentials === undefined
        ? {}
        : { authenticator: transport.credsAuthenticator(new TextEncoder().encode(credentials())) }),
    });
    try {
      signal.throwIfAborted();
      const manager = await jetstream.jetstreamManager(nats, { timeout: answerMs });
      await makeStream(manager, target);
      return new JetStreamConnection({ transport, jetstream }, nats, manager, stream);
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  async end(): Promise<StreamEnd> {
    const { state } = await this.#manager.streams.info(this.#stream);
    const { last_seq: sequence, messages } = state;
    if (messages === 0) return { sequence, messages, headers: undefined };
    const newest = await this.#manager.streams.getMessage(this.#stream, { seq: sequence });
    return { sequence, messages, headers: newest?.header };
  }

  /** Names and values contain no line ends, so they are not checked. Setting headers one by one costs twice as much. */
  headers(values: Record<string, string[]>): MsgHdrs {
    return this.#libraries.transport.MsgHdrsImpl.fromRecord(values);
  }

  /** Sends a message without an acknowledgement. Throws when the connection is lost. */
  send(subject: string, value: Uint8Array | undefined, headers: MsgHdrs): void {
    this.#nats.publish(subject, value, { headers });
  }

  /** Sends a message; resolves once the stream has stored it. */
  async publish(subject: string, value: Uint8Array | undefined, headers: MsgHdrs): Promise<void> {
    await this.#client.publish(subject, value, { headers, timeout: answerMs, retries: 1 });
  }

  /** Reads the headers of every message in order, or only of the newest message of each subject. */
  async readHeaders(newestOnly: boolean, take: (headers: MsgHdrs) => void): Promise<void> {
    const { DeliverPolicy } = this.#libraries.jetstream;
    const consumer = await this.#client.consumers.get(this.#stream, {
      deliver_policy: newestOnly ? DeliverPolicy.LastPerSubject : DeliverPolicy.All,
      headers_only: true,
    });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0) return;
    const messages = await consumer.consume({ max_messages: pullMessages });
    for await (const message of messages) {
      if (message.headers !== undefined) take(message.headers);
      if (message.info.pending === 0) break;
    }
  }

  async close(): Promise<void> {
    await this.#nats.close();
  }
}

async function makeStream(manager: JetStreamManager, target: StreamTarget): Promise<void> {
  const { stream, subjects, keepPerSubject } = target;
  try {
    await manager.streams.info(stream);
  } catch (error) {
    if (!/stream not found/.test(String(error))) throw error;
    const kept = given({ max_msgs_per_subject: keepPerSubject });
    await manager.streams.add({ name: stream, subjects: [subjects], ...kept });
  }
}
