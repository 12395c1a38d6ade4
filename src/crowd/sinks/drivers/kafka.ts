/**
 * Kafka: batches land by transactions, and with them, in a topic of the sink's own, the positions and what is
 * known of their objects (kafka-state.ts).
 *
 * Holds  a session begins by its transactional id: Kafka undoes what an earlier session has not committed, and
 *        refuses whatever it sends afterwards. Then the state is read, by a reader that sees committed messages only.
 * Holds  whatever waits when a transaction ends is the next one: a slow broker gets larger ones.
 * Consumers read with `isolation.level=read_committed`: what was undone stays in the log.
 */
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import {
  type KnownObject,
  SinkConfigError,
  type SinkDriver,
  SinkFencedError,
  type SinkRecord,
  type SinkSession,
} from "../sink-driver.ts";
import { type KafkaAccess, KafkaConnection, type MadeTopic } from "./kafka-connection.ts";
import { type KafkaMessage, messagesOf } from "./kafka-message.ts";
import { stateMessages, takeKnown, takePosition } from "./kafka-state.ts";

interface KafkaOptions extends KafkaAccess {
  readonly stateTopic: string;
  readonly made: MadeTopic;
  readonly contentType: string;
  readonly tombstones: boolean;
  readonly gzip: boolean;
}

interface KafkaDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export class KafkaDriver implements SinkDriver {
  readonly target: string;
  readonly atLeastOnce = false;
  readonly #deps: KafkaDeps;
  readonly #options: KafkaOptions;

  constructor(deps: KafkaDeps, options: KafkaOptions) {
    this.#deps = deps;
    this.#options = options;
    this.target = `${options.brokers.join(",")} state ${options.stateTopic}`;
  }

  async open(_sources: readonly string[], signal: AbortSignal): Promise<SinkSession> {
    const connection = await KafkaConnection.make(this.#deps.clock, this.#options, signal);
    const opening = this.#take(connection);
    try {
      return await unlessAborted(opening, signal);
    } catch (error) {
      connection.close();
      // The library cannot be aborted: whatever it still opens later is closed then.
      opening.then(
        (session) => session.close(),
        () => connection.close(),
      );
      throw asSinkError(error);
    }
  }

  async #take(connection: KafkaConnection): Promise<SinkSession> {
    await connection.takeOver(this.#deps.random.uuid());
    const session = new KafkaSession(connection, this.#options);
    await connection.readState((message) => takePosition(session.positions, message));
    return session;
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface Waiting {
  readonly records: readonly SinkRecord[];
  readonly landed: PromiseWithResolvers<void>;
}

class KafkaSession implements SinkSession {
  /** Maximum number of appends, of 256 KiB at most each: one transaction writes all that wait. */
  readonly inFlightMax = 16;
  readonly positions = new Map<string, string>();
  readonly #connection: KafkaConnection;
  readonly #options: KafkaOptions;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;

  constructor(connection: KafkaConnection, options: KafkaOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  async known(source: string): Promise<Map<string, KnownObject>> {
    const known = new Map<string, KnownObject>();
    await this.#connection.readState((message) => takeKnown(known, source, message));
    return known;
  }

  append(records: readonly SinkRecord[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure as Error);
    const landed = Promise.withResolvers<void>();
    this.#waiting.push({ records, landed });
    this.#writing ??= this.#writeWaiting();
    return landed.promise;
  }

  close(): Promise<void> {
    this.#fail(new Error("the session has ended"));
    this.#connection.close();
    // The library may reconnect for a pending transaction; the connection is closed again after it ends.
    void this.#writing?.then(() => this.#connection.close());
    return Promise.resolve();
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batches = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batches.map(({ records }) => records));
        for (const { landed } of batches) landed.resolve();
      } catch (error) {
        const failure = asSinkError(error);
        for (const { landed } of batches) landed.reject(failure);
        this.#fail(failure);
      }
    }
    this.#writing = undefined;
  }

  async #write(batches: readonly (readonly SinkRecord[])[]): Promise<void> {
    const parts = [];
    for (const records of batches) parts.push(await this.#byTopic(records));
    await this.#connection.write(parts, stateMessages(batches.flat()));
  }

  async #byTopic(records: readonly SinkRecord[]): Promise<Map<string, KafkaMessage[]>> {
    const topics = new Map<string, KafkaMessage[]>();
    for (const record of records) {
      if (record.type === "POSITION") continue;
      const partitions = await this.#connection.partitions(record.route);
      const messages = topics.get(record.route) ?? [];
      messages.push(...messagesOf(record, this.#options, partitions));
      topics.set(record.route, messages);
    }
    return topics;
  }

  /** Rejects all waiting appends: none may be written after one that failed. */
  #fail(failure: unknown): void {
    this.#failure ??= failure;
    for (const { landed } of this.#waiting) landed.reject(failure);
    this.#waiting = [];
  }
}

const fenced = /^(INVALID_PRODUCER_EPOCH|PRODUCER_FENCED|INVALID_PRODUCER_ID_MAPPING)$/;
const setUpOtherwise =
  /_AUTHORIZATION_FAILED$|^(UNSUPPORTED_VERSION|INVALID_TRANSACTION_TIMEOUT|POLICY_VIOLATION)$/;

function asSinkError(error: unknown): unknown {
  for (const { type, message } of causesOf(error)) {
    if (fenced.test(type)) return new SinkFencedError(message);
    if (setUpOtherwise.test(type)) return new SinkConfigError(message);
  }
  return error;
}

/** Returns the error and its causes: the library wraps the broker's error, whose `type` is Kafka's error name. */
function causesOf(error: unknown): readonly { type: string; message: string }[] {
  if (!(error instanceof Error)) return [];
  const { type = "", errors = [] } = error as { type?: unknown; errors?: readonly unknown[] };
  const inner = [error.cause, ...(Array.isArray(errors) ? errors : [])];
  return [{ type: String(type), message: error.message }, ...inner.flatMap(causesOf)];
}
