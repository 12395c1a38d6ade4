/** Transactional producer of Kafka with its topics and state. The client library is loaded when a sink needs it. */
import type { Admin, Consumer, Kafka, Producer, SASLOptions, Transaction } from "kafkajs";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import { SinkConfigError } from "../sink-driver.ts";
import type { KafkaMessage } from "./kafka-message.ts";
import { sessionKey, type StateMessage } from "./kafka-state.ts";
import { loadLibrary } from "./library.ts";

export interface KafkaAccess {
  readonly brokers: readonly string[];
  /** Returns the file contents, read when the connection is made. Undefined: no TLS. */
  readonly tls: (() => KafkaTls) | undefined;
  readonly sasl: (() => KafkaSasl) | undefined;
}

interface KafkaTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

interface KafkaSasl {
  readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
  readonly username: string;
  readonly password: string;
}

/** Settings of topics that the driver creates. */
export interface MadeTopic {
  readonly partitions: number | undefined;
  readonly replicas: number | undefined;
  readonly compact: boolean;
}

interface ConnectionOptions extends KafkaAccess {
  /** Name of the state topic, and the transactional id: a later producer with the same id fences the earlier one. */
  readonly stateTopic: string;
  readonly made: MadeTopic;
  readonly gzip: boolean;
}

type TopicMessages = ReadonlyMap<string, readonly KafkaMessage[]>;

/** Numbers of Kafka's protocol. */
const topicResource = 2;
const codecs = { none: 0, gzip: 1 } as const;
const connectMs = 5_000;
const answerMs = 10_000;
/** Kafka aborts a transaction whose producer is silent for this time; until then readers wait for its end. */
const transactionMs = 15_000;
/** Time without any message of the state after which the broker counts as unreachable. */
const stateMs = 30_000;
/** Retries of connecting, and of taking over while Kafka still aborts an earlier transaction. */
const retry = { initialRetryTime: 50, multiplier: 2, maxRetryTime: 1_000, retries: 5 };
/** Retries of sending: the next transaction may begin while Kafka still writes the end of the last one, which takes milliseconds. */
const sendRetry = { initialRetryTime: 5, multiplier: 2, maxRetryTime: 500, retries: 10 };
/** Maximum message size of created topics, enough for a transaction's part and for any object. Kafka's default is 1 MiB. */
const messageBytesMax = 4 * 2 ** 20;
/** Segment size of the state topic: each session first reads what is not compacted yet. */
const stateSegmentBytes = 8 * 2 ** 20;

export class KafkaConnection {
  readonly #clock: Clock;
  readonly #options: ConnectionOptions;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #producer: Producer;
  readonly #signal: AbortSignal;
  /** By topic that was written to: its number of partitions. */
  readonly #topics = new Map<string, number>();
  /** Names of all topics at the beginning of the session. Undefined: not read yet. */
  #names: ReadonlySet<string> | undefined;
  #session = "";

  private constructor(clock: Clock, options: ConnectionOptions, kafka: Kafka, signal: AbortSignal) {
    this.#clock = clock;
    this.#options = options;
    this.#kafka = kafka;
    this.#signal = signal;
    this.#admin = kafka.admin({ retry });
    this.#producer = kafka.producer({
      transactionalId: options.stateTopic,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: transactionMs,
      allowAutoTopicCreation: false,
      retry: sendRetry,
    });
  }

  /** Creates the clients without connecting them. */
  static async make(
    clock: Clock,
    options: ConnectionOptions,
    signal: AbortSignal,
  ): Promise<KafkaConnection> {
    const { Kafka, logLevel } = await loadLibrary("kafkajs", () => import("kafkajs"));
    const { brokers, tls, sasl } = options;
    const kafka = new Kafka({
      clientId: "pilothouse",
      brokers: [...brokers],
      connectionTimeout: connectMs,
      authenticationTimeout: connectMs,
      requestTimeout: answerMs,
      // The library's errors also reject its calls, so they need not be logged.
      logLevel: logLevel.NOTHING,
      retry,
      ...(tls === undefined ? {} : { ssl: { ...tls() } }),
      // The library's type differs by mechanism, but the values have the same fields.
      ...(sasl === undefined ? {} : { sasl: sasl() as SASLOptions }),
    });
    return new KafkaConnection(clock, options, kafka, signal);
  }

  /** Connects. From then on no transaction of an earlier session commits; earlier commits are in the state. */
  async takeOver(session: string): Promise<void> {
    const { stateTopic } = this.#options;
    await this.#admin.connect();
    await this.#producer.connect();
    await this.#ensureState();
    const transaction = await this.#producer.transaction();
    const messages = [{ key: sessionKey, value: session }];
    await transaction.send({ topic: stateTopic, messages });
    await transaction.commit();
    this.#session = session;
  }

  /** Reads the state at the beginning of this session, oldest message first. */
  async readState(take: (message: StateMessage) => void): Promise<void> {
    const { stateTopic } = this.#options;
    // The consumer group is unique: two readers of one group would share the partition.
    const consumer = this.#kafka.consumer({
      groupId: `${stateTopic}.${this.#session}`,
      allowAutoTopicCreation: false,
      maxWaitTimeInMs: 200,
      retry,
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [stateTopic], fromBeginning: true });
      await this.#consume(consumer, take);
    } finally {
      await consumer.disconnect().catch(() => undefined);
    }
  }

  /** Returns the number of partitions of a topic; creates it when it does not exist. */
  async partitions(topic: string): Promise<number> {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const { compact, partitions, replicas } = this.#options.made;
    const policy = compact ? [{ name: "cleanup.policy", value: "compact" }] : [];
    return this.#ensureTopic(topic, {
      configEntries: [...policy, { name: "max.message.bytes", value: `${messageBytesMax}` }],
      ...given({ numPartitions: partitions, replicationFactor: replicas }),
    });
  }

  /** Writes the parts in this order, then the state, in one transaction. */
  async write(parts: readonly TopicMessages[], state: readonly StateMessage[]): Promise<void> {
    const transaction = await this.#producer.transaction();
    const compression = this.#options.gzip ? codecs.gzip : codecs.none;
    for (const part of parts) await sendPart(transaction, part, compression);
    const topic = this.#options.stateTopic;
    await transaction.send({ topic, messages: [...state] });
    await transaction.commit();
  }

  close(): void {
    for (const client of [this.#producer, this.#admin]) {
      client.disconnect().catch(() => undefined);
    }
  }

  async #consume(consumer: Consumer, take: (message: StateMessage) => void): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const fail = (error: unknown): void => ended.reject(error);
    const late = (): void => fail(new Error(`no answer in ${stateMs / 1000} s`));
    let timer = this.#clock.after("sink.state", stateMs, late);
    const stop = (): void => fail(this.#signal.reason);
    this.#signal.addEventListener("abort", stop, { once: true });
    // The library itself retries while a group coordinator is still loading.
    consumer.on(consumer.events.CRASH, ({ payload: { restart, error } }) => {
      if (!restart) fail(error);
    });
    let isRead = false;
    const taken = (key: Buffer | null, value: Buffer | null): void => {
      const message = { key: key?.toString() ?? "", value: value?.toString() ?? null };
      isRead ||= message.key === sessionKey && message.value === this.#session;
      if (isRead) ended.resolve();
      else take(message);
    };
    try {
      const running = consumer.run({
        autoCommit: false,
        eachBatch: ({ batch }) => {
          timer.cancel();
          timer = this.#clock.after("sink.state", stateMs, late);
          for (const { key, value } of batch.messages) taken(key, value);
          return Promise.resolve();
        },
      });
      await Promise.all([running, ended.promise]);
    } finally {
      timer.cancel();
      this.#signal.removeEventListener("abort", stop);
    }
  }

  async #ensureState(): Promise<void> {
    const { stateTopic, made } = this.#options;
    const partitions = await this.#ensureTopic(stateTopic, {
      numPartitions: 1,
      ...given({ replicationFactor: made.replicas }),
      configEntries: [
        { name: "cleanup.policy", value: "compact" },
        { name: "max.message.bytes", value: `${messageBytesMax}` },
        { name: "segment.bytes", value: `${stateSegmentBytes}` },
      ],
    });
    if (partitions !== 1) {
      throw new SinkConfigError(
        `topic ${stateTopic} has ${partitions} partitions: a state has one`,
      );
    }
    const policy = await this.#cleanupPolicy(stateTopic);
    if (policy !== "compact") {
      throw new SinkConfigError(
        `topic ${stateTopic} has cleanup.policy=${policy}: a state is kept by compact`,
      );
    }
  }

  /** Returns the cleanup policy. "compact" when this user may not read it: then the operator has created the topic. */
  async #cleanupPolicy(topic: string): Promise<string> {
    const asked = { type: topicResource, name: topic, configNames: ["cleanup.policy"] };
    try {
      const call = { resources: [asked], includeSynonyms: false };
      const { resources } = await this.#admin.describeConfigs(call);
      return resources[0]?.configEntries[0]?.configValue ?? "";
    } catch (error) {
      if (/not authorized/i.test(String(error))) return "compact";
      throw error;
    }
  }

  async #ensureTopic(
    topic: string,
    made: Omit<Parameters<Admin["createTopics"]>[0]["topics"][number], "topic">,
  ): Promise<number> {
    this.#names ??= new Set(await this.#admin.listTopics());
    if (!this.#names.has(topic)) await this.#admin.createTopics({ topics: [{ topic, ...made }] });
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions.length ?? 0;
    this.#topics.set(topic, partitions);
    return partitions;
  }
}

async function sendPart(
  transaction: Transaction,
  part: TopicMessages,
  compression: number,
): Promise<void> {
  const topicMessages = [...part].map(([topic, messages]) => ({ topic, messages: [...messages] }));
  if (topicMessages.length > 0) await transaction.sendBatch({ topicMessages, compression });
}
