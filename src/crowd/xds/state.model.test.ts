/**
 * The state of the world against a map, seeded: as the model of the delta protocol, for clients that say all
 * their names each time, and to whom nothing says that endpoints or routes are gone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import { type Change, randomOf, Replica } from "./testing/replica.ts";
import { anyValue, readState, stateRequest } from "./testing/test-client.ts";
import { TestStream } from "./testing/test-stream.ts";
import { clusterType, endpointsType, isWholeSet, listenerType, routesType } from "./type-urls.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);
const struct = "v1/configmaps/google.protobuf.Struct";
const types = [clusterType, endpointsType, listenerType, routesType, struct];
const names = ["a/1", "a/2", "a/3", "b/1", "b/2", "-c/1", "-c/2", "d"];

/** What a client keeps of one type. */
interface Kept {
  readonly wanted: Set<string>;
  /** Text by name. */
  held: Map<string, string>;
  /** The last one that it took. */
  version: string;
  /** Of this stream; "": nothing came on it. */
  nonce: string;
  isOpen: boolean;
}

function selects({ wanted }: Kept, name: string): boolean {
  return wanted.has(name) || (wanted.has("*") && !name.startsWith("-"));
}

class Client {
  readonly kept = new Map<string, Kept>(
    types.map((type) => [
      type,
      { wanted: new Set(), held: new Map(), version: "", nonce: "", isOpen: false },
    ]),
  );
  server: TestStream | undefined;
  readonly toServer: Uint8Array[] = [];

  of(type: string): Kept {
    return this.kept.get(type) as Kept;
  }

  connect(replica: Replica): void {
    this.server = new TestStream(replica.tables, { protocol: "state" });
    this.toServer.length = 0;
    for (const type of types) {
      const kept = this.of(type);
      kept.nonce = "";
      kept.isOpen = false;
      if (kept.wanted.size > 0) this.say(type);
    }
  }

  say(type: string, error?: string): void {
    const kept = this.of(type);
    if (this.server === undefined || (!kept.isOpen && kept.wanted.size === 0)) return;
    kept.isOpen = true;
    const { nonce, version, wanted } = kept;
    const refusal = given({ error });
    this.toServer.push(stateRequest({ type, names: [...wanted], nonce, version, ...refusal }));
  }

  unsubscribe(type: string, name: string): void {
    const kept = this.of(type);
    if (!kept.wanted.delete(name)) return;
    for (const held of kept.held.keys()) if (!selects(kept, held)) kept.held.delete(held);
    this.say(type);
  }

  receive(bytes: Uint8Array, refuses: boolean): void {
    const { type, nonce, version, resources } = readState(bytes);
    const kept = this.of(type);
    kept.nonce = nonce;
    const told = resources.map((any) => Buffer.from(anyValue(any)).toString().slice(2).split("="));
    const before = isWholeSet(type) ? [] : kept.held;
    const all = new Map([
      ...before,
      ...told.map(([name = "", text = ""]) => [name, text] as const),
    ]);
    kept.held = new Map([...all].filter(([name]) => selects(kept, name)));
    // It has what it refuses, as this model goes, but says that it does not.
    if (!refuses) kept.version = version;
    this.say(type, refuses ? "no" : undefined);
  }
}

function run(random: (n: number) => number, steps: number): void {
  const history: Change[] = [];
  const truth = new Map(types.map((type) => [type, new Map<string, string>()]));
  const replicas = [new Replica(history), new Replica(history)];
  const client = new Client();
  const anyOf = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const change = (): void => {
    const [type, name] = [anyOf(types), anyOf(names)];
    const text = random(4) === 0 ? undefined : `${name}=${random(5)}`;
    history.push({ type, name, text });
    if (text === undefined) truth.get(type)?.delete(name);
    else truth.get(type)?.set(name, text.slice(name.length + 1));
  };
  const toServer = (): void => {
    const request = client.toServer.shift();
    if (request !== undefined) client.server?.ask(request);
  };
  const toClient = (): void => {
    const response = client.server?.sent.shift();
    if (response !== undefined) client.receive(response, random(10) === 0);
  };
  const subscribe = (): void => {
    const type = anyOf(types);
    client.of(type).wanted.add(random(5) === 0 ? "*" : anyOf(names));
    client.say(type);
  };
  const acts = [
    change,
    change,
    change,
    () => anyOf(replicas).advance(1 + random(3)),
    () => client.server?.settle(),
    toServer,
    toServer,
    toClient,
    toClient,
    () => random(6) === 0 && client.connect(anyOf(replicas)),
    subscribe,
    () => client.unsubscribe(anyOf(types), random(3) === 0 ? "*" : anyOf(names)),
  ];
  client.connect(anyOf(replicas));
  for (let step = 0; step < steps; step++) anyOf(acts)();
  for (const replica of replicas) replica.advance(history.length);
  if (random(2) === 0) client.connect(anyOf(replicas));
  for (let turn = 0; turn < 1000; turn++) {
    client.server?.stream.wake();
    client.server?.settle();
    toServer();
    toClient();
  }
  assert.equal(client.toServer.length + (client.server?.sent.length ?? 0), 0, "it comes to rest");
  for (const type of types) {
    const kept = client.of(type);
    const expected = [...(truth.get(type) ?? [])].filter(([name]) => selects(kept, name));
    // Of these nothing says what is gone.
    const isThere = (name: string): boolean =>
      isWholeSet(type) || truth.get(type)?.has(name) === true;
    const held = [...kept.held].filter(([name]) => isThere(name));
    assert.deepEqual(held.sort(), expected.sort(), type);
  }
}

test("after any faults the client holds what its subscription selects of the truth", () => {
  const rounds = 300;
  for (let round = 0; round < rounds; round++) {
    try {
      run(randomOf(seed * rounds + round), 150);
    } catch (error) {
      throw new Error(`PILOTHOUSE_SEED=${seed}, round ${round}`, { cause: error });
    }
  }
});
