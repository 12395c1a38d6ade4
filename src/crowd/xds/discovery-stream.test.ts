/** One stream of either protocol: subscriptions, order, rights, limits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesField, message, numberField } from "./message-fields.ts";
import { ResourceTable } from "./resource-table.ts";
import { StreamEndError } from "./stream-end.ts";
import { deltaRequest, readDelta, readState, stateRequest } from "./testing/test-client.ts";
import { put, Tables, TestStream } from "./testing/test-stream.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

function deltas(one: TestStream): ReturnType<typeof readDelta>[] {
  one.settle();
  return one.sent.splice(0).map(readDelta);
}

function states(one: TestStream): ReturnType<typeof readState>[] {
  one.settle();
  return one.sent.splice(0).map(readState);
}

/** Takes what was sent, and acknowledges it until nothing more comes. @returns `type: +name -name`. */
function taken(one: TestStream): readonly string[] {
  const lines: string[] = [];
  for (let told = deltas(one); told.length > 0; told = deltas(one)) {
    for (const { type, resources, removed, nonce } of told) {
      const names = [...resources.keys()].map((name) => `+${name}`);
      const kind = type.slice(type.lastIndexOf(".") + 1);
      lines.push(`${kind}: ${[...names, ...removed.map((name) => `-${name}`)].join(" ")}`);
      one.ask(deltaRequest({ type, nonce }));
    }
  }
  return lines;
}

test("a client that names nothing at first gets every listed cluster, and no unlisted one", () => {
  const tables = new Tables();
  put(tables.of(clusterType), "a/1", "one");
  put(tables.of(clusterType), "-hidden", "two");
  const one = new TestStream(tables, { protocol: "delta" });
  one.ask(deltaRequest({ type: clusterType }));
  assert.deepEqual(taken(one), ["Cluster: +a/1"]);
});

test("a client that asks for everything is answered once, even if that is nothing, or nothing new", () => {
  const tables = new Tables();
  const one = new TestStream(tables, { protocol: "delta" });
  for (const type of [clusterType, listenerType]) one.ask(deltaRequest({ type }));
  one.ask(deltaRequest({ type: "type of nobody", subscribe: ["*"] }));
  assert.deepEqual(taken(one), ["Cluster: ", "type of nobody: ", "Listener: "]);
  one.ask(deltaRequest({ type: listenerType, subscribe: ["*"] }));
  assert.deepEqual(taken(one), [], "it has asked before");
  one.ask(deltaRequest({ type: listenerType, unsubscribe: ["*"] }));
  one.ask(deltaRequest({ type: listenerType, subscribe: ["*"] }));
  assert.deepEqual(taken(one), ["Listener: "]);
  put(tables.of(clusterType), "a/1", "one");
  const [told] = deltas(one);
  const versions = new Map([["a/1", told!.resources.get("a/1")!.version]]);
  const again = new TestStream(tables, { protocol: "delta" });
  again.ask(deltaRequest({ type: clusterType, versions }));
  assert.deepEqual(taken(again), ["Cluster: "]);
});

test("a large first answer of everything is not followed by an empty one", () => {
  const tables = new Tables();
  for (let at = 0; at < 4; at++) put(tables.of(clusterType), `a/${at}`, "text");
  const one = new TestStream(tables, { protocol: "delta", limits: { responseBytesMax: 1 } });
  one.ask(deltaRequest({ type: clusterType }));
  const each = ["Cluster: +a/0", "Cluster: +a/1", "Cluster: +a/2", "Cluster: +a/3"];
  assert.deepEqual(taken(one), each);
});

test("the state of the world of nothing is an answer, too: of all, and of a name that is not there", () => {
  for (const names of [[], ["a/1"]]) {
    const one = new TestStream(new Tables(), { protocol: "state" });
    for (const type of [clusterType, listenerType]) one.ask(stateRequest({ type, names }));
    const told = states(one).map(({ type, resources }) => [type, resources.length]);
    assert.deepEqual(told.slice(0, 1), [[clusterType, 0]]);
  }
});

test("a change costs work for who named the resource only", () => {
  const table = new ResourceTable(endpointsType, { changesMax: 10, formerMax: 10 });
  const looked: string[] = [];
  for (const name of ["x", "y"]) {
    table.follow(name, {
      changed: (changed) => looked.push(`${name}: ${changed}`),
      listChanged: () => looked.push("all"),
    });
  }
  put(table, "y", "text");
  put(table, "y", "text");
  assert.deepEqual(looked, ["y: y"]);
});

test("changes while a response is outstanding merge into the next one", () => {
  const tables = new Tables();
  const table = tables.of(endpointsType);
  put(table, "a/1", "first");
  const one = new TestStream(tables, { protocol: "delta" });
  one.ask(deltaRequest({ type: endpointsType, subscribe: ["a/1"] }));
  const [first] = deltas(one);
  for (let i = 0; i < 50; i++) put(table, "a/1", `text ${i}`);
  assert.deepEqual(deltas(one), []);
  one.ask(deltaRequest({ type: endpointsType, nonce: first!.nonce }));
  const [second, ...more] = deltas(one);
  assert.deepEqual([...second!.resources.keys(), more.length], ["a/1", 0]);
});

test("a refused response is counted with its reason, and not sent again until the resource changes", () => {
  const tables = new Tables();
  put(tables.of(clusterType), "a/1", "bad");
  const one = new TestStream(tables, { protocol: "delta" });
  one.ask(deltaRequest({ type: clusterType }));
  const [first] = deltas(one);
  one.ask(deltaRequest({ type: clusterType, nonce: first!.nonce, error: "no such thing" }));
  assert.deepEqual(one.answers, [{ code: 3, message: "no such thing" }]);
  assert.deepEqual(deltas(one), []);
  put(tables.of(clusterType), "a/1", "good");
  assert.deepEqual(taken(one), ["Cluster: +a/1"]);
});

test("what is new comes before what refers to it, and what refers to something goes before it", () => {
  const tables = new Tables();
  const types = [routesType, listenerType, endpointsType, clusterType];
  const one = new TestStream(tables, { protocol: "delta" });
  for (const type of types) one.ask(deltaRequest({ type, subscribe: ["*"] }));
  taken(one);
  for (const type of types) put(tables.of(type), "a/1", "new");
  assert.deepEqual(taken(one), [
    "Cluster: +a/1",
    "ClusterLoadAssignment: +a/1",
    "Listener: +a/1",
    "RouteConfiguration: +a/1",
  ]);
  for (const type of types) put(tables.of(type), "a/1", undefined);
  assert.deepEqual(taken(one), [
    "Listener: -a/1",
    "RouteConfiguration: -a/1",
    "ClusterLoadAssignment: -a/1",
    "Cluster: -a/1",
  ]);
});

test("routes wait until the client has taken the clusters that they may name", () => {
  const tables = new Tables();
  const one = new TestStream(tables, { protocol: "delta" });
  for (const type of [clusterType, routesType]) one.ask(deltaRequest({ type, subscribe: ["*"] }));
  taken(one);
  put(tables.of(clusterType), "a/1", "new");
  put(tables.of(routesType), "a/1", "to a/1");
  const [cluster, ...others] = deltas(one);
  assert.deepEqual([cluster!.type, others.length], [clusterType, 0]);
  one.ask(deltaRequest({ type: clusterType, nonce: cluster!.nonce }));
  assert.deepEqual(taken(one), ["RouteConfiguration: +a/1"]);
});

test("a name that does not exist is told as removed, and sent once it exists", () => {
  const tables = new Tables();
  const one = new TestStream(tables, { protocol: "delta" });
  one.ask(deltaRequest({ type: endpointsType, subscribe: ["a/1"] }));
  assert.deepEqual(taken(one), ["ClusterLoadAssignment: -a/1"]);
  put(tables.of(endpointsType), "a/1", "now");
  assert.deepEqual(taken(one), ["ClusterLoadAssignment: +a/1"]);
});

test("a reconnect with versions gets what differs, and what is gone, at another replica", () => {
  const [here, there] = [new Tables(), new Tables()];
  for (const name of ["a/1", "a/2", "a/3"]) put(here.of(clusterType), name, "same");
  for (const name of ["a/3", "a/1"]) put(there.of(clusterType), name, "same");
  put(there.of(clusterType), "a/3", "other");
  const one = new TestStream(here, { protocol: "delta" });
  one.ask(deltaRequest({ type: clusterType }));
  const [all] = deltas(one);
  const versions = new Map([...all!.resources].map(([name, { version }]) => [name, version]));
  const again = new TestStream(there, { protocol: "delta" });
  again.ask(deltaRequest({ type: clusterType, versions }));
  assert.deepEqual(taken(again), ["Cluster: +a/3", "Cluster: -a/2"]);
});

test("a large state goes out in several responses, each after the one before was taken", () => {
  const tables = new Tables();
  for (let i = 0; i < 20; i++) put(tables.of(clusterType), `a/${i}`, "x".repeat(500));
  const one = new TestStream(tables, { protocol: "delta", limits: { responseBytesMax: 2000 } });
  one.ask(deltaRequest({ type: clusterType }));
  assert.ok(one.sent.length === 1 && one.sent[0]!.length < 4000);
  const lines = taken(one);
  assert.equal(lines.flatMap((line) => line.match(/\+/g) ?? []).length, 20);
  assert.ok(lines.length > 3);
});

test("the state of the world of clusters is the whole set, of endpoints what changed", () => {
  const tables = new Tables();
  for (const type of [clusterType, endpointsType]) {
    for (const name of ["a/1", "a/2"]) put(tables.of(type), name, "text");
  }
  const one = new TestStream(tables, { protocol: "state" });
  one.ask(stateRequest({ type: clusterType, names: [] }));
  one.ask(stateRequest({ type: endpointsType, names: ["a/1", "a/2", "a/none"] }));
  const [clusters, endpoints] = states(one);
  assert.deepEqual([clusters!.resources.length, endpoints!.resources.length], [2, 2]);
  for (const told of [clusters, endpoints]) {
    const { type, nonce, version } = told!;
    const names = type === clusterType ? [] : ["a/1", "a/2", "a/none"];
    one.ask(stateRequest({ type, nonce, version, names }));
    put(tables.of(type), "a/2", "changed");
  }
  assert.deepEqual(
    states(one).map(({ resources }) => resources.length),
    [2, 1],
  );
});

test("a state of the world with additions still holds what is gone, until nothing refers to it", () => {
  const tables = new Tables();
  put(tables.of(clusterType), "a/old", "text");
  put(tables.of(routesType), "a/routes", "to old");
  const one = new TestStream(tables, { protocol: "state" });
  const counts: string[] = [];
  const take = (): void => {
    for (let told = states(one); told.length > 0; told = states(one)) {
      for (const { type, nonce, version, resources } of told) {
        counts.push(`${type.slice(type.lastIndexOf(".") + 1)} ${resources.length}`);
        const names = type === clusterType ? [] : ["a/routes"];
        one.ask(stateRequest({ type, nonce, version, names }));
      }
    }
  };
  one.ask(stateRequest({ type: clusterType, names: [] }));
  one.ask(stateRequest({ type: routesType, names: ["a/routes"] }));
  take();
  put(tables.of(clusterType), "a/new", "text");
  put(tables.of(clusterType), "a/old", undefined);
  put(tables.of(routesType), "a/routes", "to new");
  take();
  assert.deepEqual(counts, [
    "Cluster 1",
    "RouteConfiguration 1",
    "Cluster 2",
    "RouteConfiguration 1",
    "Cluster 1",
  ]);
});

test("a client that comes back with the version of the same state is not sent it again", () => {
  const tables = new Tables();
  put(tables.of(clusterType), "a/1", "text");
  const one = new TestStream(tables, { protocol: "state" });
  one.ask(stateRequest({ type: clusterType, names: [] }));
  const [told] = states(one);
  const { version } = told!;
  const again = new TestStream(tables, { protocol: "state" });
  again.ask(stateRequest({ type: clusterType, names: [], version }));
  assert.deepEqual(states(again), []);
  put(tables.of(clusterType), "a/1", "other");
  assert.equal(states(again).length, 1);
});

test("a request for an earlier response acknowledges nothing, and its names count", () => {
  const tables = new Tables();
  for (const name of ["a/1", "a/2"]) put(tables.of(endpointsType), name, "text");
  const one = new TestStream(tables, { protocol: "state" });
  const ask = (names: readonly string[], nonce: string): void =>
    one.ask(stateRequest({ type: endpointsType, names, nonce }));
  ask(["a/1"], "");
  const [told] = states(one);
  // Dropped and taken again before the client has seen the response.
  ask(["a/2"], "earlier");
  ask(["a/1", "a/2"], "earlier");
  assert.deepEqual([states(one), one.answers], [[], []]);
  ask(["a/1", "a/2"], told!.nonce);
  assert.equal(states(one)[0]?.resources.length, 2);
});

test("a namespace is shown after a yes; without one its names do not exist", () => {
  const tables = new Tables();
  for (const name of ["mine/1", "theirs/1"]) put(tables.of(endpointsType), name, "text");
  const mayRead = (scope: string): boolean => scope === "mine";
  const one = new TestStream(tables, { protocol: "delta", mayRead });
  one.stream.receive(deltaRequest({ type: endpointsType, subscribe: ["mine/1", "theirs/1"] }));
  one.stream.pump();
  assert.deepEqual(one.sent, []);
  assert.deepEqual(taken(one), ["ClusterLoadAssignment: +mine/1 -theirs/1"]);
  assert.deepEqual(one.asked, ["", "mine", "theirs"]);
  one.stream.decide("theirs", true);
  assert.deepEqual(taken(one), ["ClusterLoadAssignment: +theirs/1"]);
  assert.throws(() => one.stream.decide("mine", false), StreamEndError);
});

test("what tells of further namespaces is for who may read those as well, also when it comes to", () => {
  const tables = new Tables();
  const table = tables.of(routesType);
  put(table, "mine/1", "before");
  const one = new TestStream(tables, { protocol: "delta", mayRead: (scope) => scope === "mine" });
  one.ask(deltaRequest({ type: routesType, subscribe: ["mine/1"] }));
  assert.deepEqual(taken(one), ["RouteConfiguration: +mine/1"]);
  const resource = table.get("mine/1");
  assert.ok(resource);
  table.set({ ...resource, alsoOf: ["theirs"] });
  assert.deepEqual(taken(one), ["RouteConfiguration: -mine/1"]);
  assert.deepEqual(one.asked, ["", "mine", "theirs"]);
  one.stream.decide("theirs", true);
  assert.deepEqual(taken(one), ["RouteConfiguration: +mine/1"]);
});

test("who may not see all namespaces cannot follow everything, now or later", () => {
  const tables = new Tables();
  put(tables.of(clusterType), "a/1", "secret");
  const mayRead = (scope: string): boolean => scope === "a";
  const one = new TestStream(tables, { protocol: "delta", mayRead });
  assert.throws(() => one.ask(deltaRequest({ type: clusterType })), /all namespaces/);
  const later = new TestStream(tables, { protocol: "state", mayRead });
  later.ask(stateRequest({ type: endpointsType, names: ["a/1"] }));
  assert.throws(() => later.ask(stateRequest({ type: clusterType, names: [] })), /all namespaces/);
  assert.deepEqual([one.sent, later.sent], [[], []]);
});

test("limits end the stream: names, long names, types, namespaces, and being too far behind", () => {
  const many = Array.from({ length: 101 }, (_, i) => `a/${i}`);
  const scopes = Array.from({ length: 11 }, (_, i) => `${i}/x`);
  const open = (): TestStream =>
    new TestStream(new Tables(), { protocol: "delta", mayRead: () => false });
  const ask = (type: string, subscribe: readonly string[]) => () =>
    open().ask(deltaRequest({ type, subscribe }));
  assert.throws(ask(clusterType, many), /more than 100 names/);
  assert.throws(ask(clusterType, ["x".repeat(201)]), /longer than 200/);
  assert.throws(ask(clusterType, scopes), /more than 10 namespaces/);
  assert.throws(ask("", []), /type URL is required/);
  const versions = new Map(many.map((name) => [name, "1"]));
  assert.throws(
    () => open().ask(deltaRequest({ type: clusterType, versions })),
    /versions of more resources than there are/,
  );
  const types = open();
  assert.throws(() => {
    for (let i = 0; i < 9; i++) types.ask(deltaRequest({ type: `type ${i}`, subscribe: ["x"] }));
  }, /more than 8 types/);
  const tables = new Tables();
  const slow = new TestStream(tables, { protocol: "delta" });
  slow.ask(deltaRequest({ type: clusterType }));
  taken(slow);
  slow.isFull = true;
  for (let i = 0; i < 3000; i++) put(tables.of(clusterType), `a/${i % 7}`, String(i));
  slow.isFull = false;
  assert.throws(() => slow.settle(), /too many changes/);
});

test("a closed stream follows nothing and gives its names back", () => {
  const tables = new Tables();
  const one = new TestStream(tables, { protocol: "delta" });
  one.ask(deltaRequest({ type: endpointsType, subscribe: ["a/1", "a/2"] }));
  assert.equal(one.names, 2);
  one.sent.length = 0;
  one.stream.close();
  put(tables.of(endpointsType), "a/1", "text");
  one.settle();
  assert.deepEqual([one.names, one.sent], [0, []]);
});

test("a client that said * and says no name any more follows nothing, and gets all when it says * again", () => {
  const tables = new Tables();
  put(tables.of(endpointsType), "a/1", "one");
  const one = new TestStream(tables, { protocol: "state" });
  const type = endpointsType;
  one.ask(stateRequest({ type, names: ["*"] }));
  const [first] = states(one);
  assert.equal(first?.resources.length, 1);
  const { nonce, version } = first;
  one.ask(stateRequest({ type, nonce, version, names: [] }));
  put(tables.of(endpointsType), "a/1", "two");
  assert.equal(states(one).length, 0);
  one.ask(stateRequest({ type, nonce, version, names: ["*"] }));
  assert.equal(states(one)[0]?.resources.length, 1);
});

const knowsTtl = {
  id: "n",
  zone: "",
  features: ["xds.config.supports-resource-ttl"],
};
/** Resource.ttl of 9.5 s: field 6, Duration { seconds: 9, nanos: 500,000,000 }. */
const ttlField = message(bytesField(6, message(numberField(1, 9), numberField(2, 500_000_000))));

test("a delta client that knows it gets times to live, and heartbeats of what it holds once nothing is new", () => {
  const tables = new Tables();
  for (const name of ["a/1", "a/2"]) put(tables.of(clusterType), name, "one");
  put(tables.of(endpointsType), "a/1", "one");
  const one = new TestStream(tables, { protocol: "delta", ttlMs: 9500 });
  one.ask(deltaRequest({ type: clusterType, node: knowsTtl }));
  one.ask(deltaRequest({ type: endpointsType, subscribe: ["a/1", "a/absent"] }));
  one.settle();
  assert.ok(one.sent.every((bytes) => Buffer.from(bytes).includes(ttlField)));
  const clusters = one.sent.map(readDelta).find(({ type }) => type === clusterType);
  one.stream.beat();
  assert.equal(one.sent.length, 2, "nothing while responses are outstanding");
  taken(one);
  one.stream.beat();
  const beats = deltas(one);
  assert.deepEqual(
    beats.map(({ type, resources, removed }) => [type, [...resources.keys()], removed]),
    [
      [clusterType, ["a/1", "a/2"], []],
      [endpointsType, ["a/1"], []],
    ],
  );
  for (const [name, { version, any }] of beats[0]!.resources) {
    assert.deepEqual([version, any.length], [clusters?.resources.get(name)?.version, 0]);
  }
  for (const { type, nonce } of beats) one.ask(deltaRequest({ type, nonce }));
  assert.deepEqual(deltas(one), []);
});

test("heartbeats are cut as responses are, and give way to what is new", () => {
  const tables = new Tables();
  for (let i = 0; i < 50; i++) put(tables.of(clusterType), `a/${i}`, "one");
  const limits = { responseBytesMax: 200 };
  const one = new TestStream(tables, { protocol: "delta", ttlMs: 9500, limits });
  one.ask(deltaRequest({ type: clusterType, node: knowsTtl }));
  taken(one);
  one.stream.beat();
  const [first] = deltas(one);
  assert.ok(first!.resources.size < 10);
  put(tables.of(clusterType), "a/7", "two");
  one.ask(deltaRequest({ type: clusterType, nonce: first!.nonce }));
  const [next] = deltas(one);
  assert.deepEqual([...next!.resources.keys()], ["a/7"]);
  one.ask(deltaRequest({ type: clusterType, nonce: next!.nonce }));
  assert.deepEqual(deltas(one), []);
});

test("who does not say that it knows times to live, or asks for the state of the world, gets none, and no heartbeats", () => {
  for (const [protocol, features] of [
    ["delta", []],
    ["state", ["xds.config.supports-resource-ttl"]],
  ] as const) {
    const tables = new Tables();
    put(tables.of(clusterType), "a/1", "one");
    const one = new TestStream(tables, { protocol, ttlMs: 9500 });
    const node = { id: "n", zone: "", features };
    const ask =
      protocol === "delta"
        ? deltaRequest({ type: clusterType, node })
        : stateRequest({ type: clusterType, names: [], node });
    one.ask(ask);
    assert.equal(one.sent.length, 1);
    assert.ok(!Buffer.from(one.sent[0]!).includes(ttlField));
    one.stream.beat();
    one.settle();
    assert.equal(one.sent.length, 1);
  }
});
