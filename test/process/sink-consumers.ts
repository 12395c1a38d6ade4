/** What consumers of a sink read, and the state they make of it: nothing of the product's own code. */
import assert from "node:assert/strict";
import { createClient } from "@redis/client";
import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

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
