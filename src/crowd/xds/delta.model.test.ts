/**
 * The delta protocol against a map, seeded: a client that moves among replicas at different positions,
 * whose streams are lost with what is on them, and whose requests come late, twice, or never.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, randomOf, Replica } from "./testing/replica.ts";
import { anyValue, deltaRequest, readDelta } from "./testing/test-client.ts";
import { TestStream } from "./testing/test-stream.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);
const struct = "v1/configmaps/google.protobuf.Struct";
const types = [clusterType, endpointsType, listenerType, routesType, struct];
const names = ["a/1", "a/2", "a/3", "b/1", "b/2", "-c/1", "-c/2", "d"];

/** A stream with a network that holds its messages in both directions. */
interface Link {
  readonly server: TestStream;
  readonly toServer: Uint8Array[];
  /** Acknowledgements and refusals that came, and may come again. */
  readonly answers: Uint8Array[];
  /** Types that were named on it. */
  readonly opened: Set<string>;
}

class Client {
  /** By type, by name: version and text. */
  readonly held = new Map(types.map((type) => [type, new Map<string, [string, string]>()]));
  readonly wanted = new Map(types.map((type) => [type, new Set<string>()]));
  link: Link | undefined;

  connect(replica: Replica): void {
    this.link = {
      server: new TestStream(replica.tables, { protocol: "delta" }),
      toServer: [],
      answers: [],
      opened: new Set(),
    };
    for (const type of types) {
      const subscribe = [...this.#wanted(type)];
      if (subscribe.length > 0) this.#subscribe(type, subscribe);
    }
  }

  subscribe(type: string, name: string): void {
    this.#wanted(type).add(name);
    this.#subscribe(type, [name]);
  }

  #subscribe(type: string, subscribe: readonly string[]): void {
    if (this.link === undefined) return;
    const isFirst = !this.link.opened.has(type);
    this.link.opened.add(type);
    const versions = new Map([...this.#held(type)].map(([name, [version]]) => [name, version]));
    this.#say(deltaRequest({ type, subscribe, ...(isFirst ? { versions } : {}) }));
  }

  /** As the protocol has it, the client drops what it does not follow any more. */
  unsubscribe(type: string, name: string): void {
    if (!this.#wanted(type).delete(name)) return;
    for (const held of this.#held(type).keys()) {
      if (!this.#follows(type, held)) this.#held(type).delete(held);
    }
    this.#say(deltaRequest({ type, unsubscribe: [name] }));
  }

  receive(bytes: Uint8Array, refuses: boolean): void {
    const { type, nonce, resources, removed } = readDelta(bytes);
    for (const name of removed) this.#held(type).delete(name);
    for (const [name, { version, any }] of resources) {
      if (!this.#follows(type, name)) continue;
      this.#held(type).set(name, [version, Buffer.from(anyValue(any)).toString()]);
    }
    // It has what it refuses, as this model goes: the server sends it once, either way.
    const answer = deltaRequest({ type, nonce, ...(refuses ? { error: "no" } : {}) });
    this.#say(answer);
    this.link?.answers.push(answer);
  }

  #say(request: Uint8Array): void {
    this.link?.toServer.push(request);
  }

  #follows(type: string, name: string): boolean {
    return this.#wanted(type).has(name) || (this.#wanted(type).has("*") && !name.startsWith("-"));
  }

  #held(type: string): Map<string, [string, string]> {
    return this.held.get(type) as Map<string, [string, string]>;
  }

  #wanted(type: string): Set<string> {
    return this.wanted.get(type) as Set<string>;
  }
}

function run(random: (n: number) => number, steps: number): void {
  const history: Change[] = [];
  const truth = new Map(types.map((type) => [type, new Map<string, string>()]));
  const replicas = [new Replica(history), new Replica(history), new Replica(history)];
  const client = new Client();
  const anyOf = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const change = (): void => {
    const [type, name] = [anyOf(types), anyOf(names)];
    const text = random(4) === 0 ? undefined : `text ${random(5)}`;
    history.push({ type, name, text });
    if (text === undefined) truth.get(type)?.delete(name);
    else truth.get(type)?.set(name, text);
  };
  const toServer = (): void => {
    const { link } = client;
    const request = link?.toServer.shift();
    if (request !== undefined) link?.server.ask(request);
  };
  const toClient = (): void => {
    const response = client.link?.server.sent.shift();
    if (response !== undefined) client.receive(response, random(10) === 0);
  };
  const acts = [
    change,
    change,
    change,
    () => anyOf(replicas).advance(1 + random(3)),
    () => anyOf(replicas).advance(1 + random(3)),
    () => client.link?.server.settle(),
    toServer,
    toServer,
    toServer,
    toClient,
    toClient,
    toClient,
    () => random(6) === 0 && client.connect(anyOf(replicas)),
    () => client.subscribe(anyOf(types), random(5) === 0 ? "*" : anyOf(names)),
    () => client.unsubscribe(anyOf(types), random(3) === 0 ? "*" : anyOf(names)),
    () => (client.link!.server.isFull = random(2) === 0),
    () => {
      const { answers = [], server } = client.link ?? {};
      if (answers.length > 0) server?.ask(anyOf(answers));
    },
  ];
  client.connect(anyOf(replicas));
  for (let step = 0; step < steps; step++) anyOf(acts)();
  for (const replica of replicas) replica.advance(history.length);
  if (random(2) === 0) client.connect(anyOf(replicas));
  const { link } = client;
  assert.ok(link);
  link.server.isFull = false;
  for (let turn = 0; turn < 1000; turn++) {
    link.server.stream.wake();
    link.server.settle();
    toServer();
    toClient();
  }
  assert.equal(link.toServer.length + link.server.sent.length, 0, "the exchange comes to rest");
  for (const type of types) {
    const expected = [...(truth.get(type) ?? [])].filter(
      ([name]) =>
        client.wanted.get(type)?.has(name) ||
        (client.wanted.get(type)?.has("*") && !name.startsWith("-")),
    );
    const held = [...(client.held.get(type) ?? [])].map(([name, [, text]]) => [
      name,
      text.slice(2),
    ]);
    assert.deepEqual(held.sort(), expected.sort(), type);
  }
}

test("after any faults the client holds what its subscription selects of the truth", () => {
  const rounds = 300;
  for (let round = 0; round < rounds; round++) {
    const start = seed * rounds + round;
    try {
      run(randomOf(start), 150);
    } catch (error) {
      throw new Error(`PILOTHOUSE_SEED=${seed}, round ${round}`, { cause: error });
    }
  }
});
