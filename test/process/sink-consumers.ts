/** What consumers of a sink read, and the state they make of it: nothing of the product's own code. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Kafka, type KafkaMessage, logLevel } from "kafkajs";

/** One entry, as documented in docs/sinks.md. */
export interface Entry {
  readonly type: string;
  readonly id: string;
  readonly key: string;
  readonly resourceVersion: string;
  readonly data: string;
}

export async function readRedis(port: number, stream: string): Promise<readonly Entry[]> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  const entries: Entry[] = [];
  let from = "-";
  for (;;) {
    const part = (await client.xRange(stream, from, "+", { COUNT: 2_000 })) ?? [];
    entries.push(...part.map(({ message }) => ({ ...(message as unknown as Entry) })));
    const last = part.at(-1);
    if (last === undefined) break;
    from = `(${last.id}`;
  }
  client.destroy();
  return entries;
}

export async function readJetStream(port: number, stream: string): Promise<readonly Entry[]> {
  const nats = await connect({ servers: `127.0.0.1:${port}` });
  const consumer = await jetstream(nats).consumers.get(stream, {
    deliver_policy: DeliverPolicy.All,
  });
  const entries: Entry[] = [];
  if ((await consumer.info()).num_pending > 0) {
    for await (const message of await consumer.consume({ max_messages: 1_000 })) {
      const header = (name: string): string =>
        decodeURIComponent(message.headers?.get(`Pilothouse-${name}`) ?? "");
      entries.push({
        type: header("Type"),
        id: header("Id"),
        key: header("Key"),
        resourceVersion: header("Resource-Version"),
        data: message.string(),
      });
      if (message.info.pending === 0) break;
    }
  }
  await nats.close();
  return entries;
}

/**
 * What `read_committed` shows of all partitions, each in order. A message without headers is a tombstone, which
 * a consumer of events passes over: `tombstones` counts them.
 */
export async function readKafka(
  port: number,
  topic: string,
): Promise<{ readonly entries: readonly Entry[]; readonly tombstones: number }> {
  const kafka = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 100 });
  const entries: Entry[] = [];
  let tombstones = 0;
  const left = await endsOf(kafka, topic);
  if (left.size === 0) return { entries, tombstones };
  const ended = Promise.withResolvers<void>();
  // Of marks of transactions alone, too.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
    if (Number(lastOffset) + 1 >= (left.get(partition) ?? 0)) left.delete(partition);
    if (left.size === 0) ended.resolve();
  });
  consumer.on(consumer.events.CRASH, ({ payload: { restart, error } }) => {
    if (!restart) ended.reject(error);
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ message }) => {
        if (message.headers?.["pilothouse-type"] === undefined) tombstones++;
        else entries.push(entryOf(message));
        return Promise.resolve();
      },
    });
    await ended.promise;
  } finally {
    await consumer.disconnect();
  }
  return { entries, tombstones };
}

/** Of the partitions that hold anything: the offset behind their last record. */
async function endsOf(kafka: Kafka, topic: string): Promise<Map<number, number>> {
  const admin = kafka.admin();
  await admin.connect();
  const there = (await admin.listTopics()).includes(topic);
  // One that is just being made has no leader yet, and holds nothing.
  const offsets = there ? await admin.fetchTopicOffsets(topic).catch(() => []) : [];
  await admin.disconnect();
  const ends = offsets.map(({ partition, high }) => [partition, Number(high)] as const);
  return new Map(ends.filter(([, end]) => end > 0));
}

function entryOf({ key, value, headers }: KafkaMessage): Entry {
  const header = (name: string): string => String(headers?.[`pilothouse-${name}`] ?? "");
  const text = key?.toString() ?? "";
  return {
    type: header("type"),
    id: header("id"),
    key: text.startsWith("/") ? "" : text,
    resourceVersion: header("resource-version"),
    data: value?.toString() ?? "",
  };
}

/** key -> resourceVersion. Throws for an event that came twice, or after a later one of its object. */
export function stateOf(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  const seen = new Set<string>();
  for (const { type, key, id, resourceVersion } of entries) {
    if (key === "") continue;
    assert.ok(!seen.has(id), `${id} came twice`);
    seen.add(id);
    const before = state.get(key);
    assert.ok(BigInt(resourceVersion) > BigInt(before ?? 0), `${key} went back`);
    assert.equal(type === "ADDED", before === undefined, `${type} ${key} after ${before}`);
    if (type === "DELETED") state.delete(key);
    else state.set(key, resourceVersion);
  }
  return state;
}
