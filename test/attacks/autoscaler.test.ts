/** Hostile providers of node groups: whatever they say or do not say, the autoscaler goes on and plans only what makes sense. */
import assert from "node:assert/strict";
import { createServer, type ServerHttp2Stream } from "node:http2";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { after, test } from "node:test";
import type { Node } from "#api/gen/types.ts";
import { Book } from "#autoscaler/book.ts";
import { GroupView } from "#autoscaler/group-view.ts";
import { plan } from "#autoscaler/plan.ts";
import type { NodeGroupProvider } from "#autoscaler/provider.ts";
import { statusText } from "#autoscaler/status.ts";
import {
  groupNode,
  ownedPod,
  snapshotOf,
  testCluster,
  testGroup,
  testOptions,
} from "#autoscaler/testing.ts";
import { GrpcProvider } from "#cmd/autoscaler/grpc-provider.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode } from "#scheduler/testing.ts";
import { prefixBytes } from "#wire/grpc.ts";
import { parseYaml } from "#wire/yaml.ts";

const timeoutMs = 300;
const closers: (() => void)[] = [];
after(() => {
  for (const close of closers) close();
});

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider that answers every call as `serve` does. */
async function providerOf(serve: (stream: ServerHttp2Stream) => void): Promise<GrpcProvider> {
  const server = createServer();
  server.on("sessionError", () => undefined);
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined);
    serve(stream);
  });
  return providerAt(await listening(server));
}

function providerAt(address: string): GrpcProvider {
  const config = { address, tls: undefined, timeoutMs };
  const provider = new GrpcProvider({ clock: new NodeClock() }, config);
  closers.push(() => provider.close());
  return provider;
}

const respond = (stream: ServerHttp2Stream): void =>
  stream.respond({ ":status": 200, "content-type": "application/grpc" });

void test("a provider that hangs costs its timeout, and the next call has a connection of its own", async () => {
  let connections = 0;
  const silent = createTcpServer(() => connections++);
  const provider = providerAt(await listening(silent));
  for (let i = 1; i <= 3; i++) {
    await assert.rejects(provider.refresh(), /context deadline exceeded/);
    assert.equal(connections, i);
  }
});

void test("a provider that takes calls and never answers does not hold the calls of others", async () => {
  let calls = 0;
  const provider = await providerOf((stream) => {
    if (calls++ < 20) return;
    stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true });
  });
  const hung = Array.from({ length: 20 }, () => provider.targetSize("a"));
  for (const one of await Promise.allSettled(hung)) assert.equal(one.status, "rejected");
  assert.equal(await provider.template("a"), undefined, "the 21st call is answered: unimplemented");
});

void test("an answer of 100 MB is refused by its length; one without end ends with the timeout", async () => {
  const hundred = Buffer.alloc(prefixBytes);
  hundred.writeUInt32BE(100 * 2 ** 20, 1);
  let sent = 0;
  const large = await providerOf((stream) => {
    respond(stream);
    stream.write(hundred);
    const chunk = Buffer.alloc(2 ** 16);
    const more = (): void => {
      while (!stream.destroyed && sent < 100 * 2 ** 20) {
        sent += chunk.length;
        if (!stream.write(chunk)) return void stream.once("drain", more);
      }
    };
    more();
  });
  await assert.rejects(large.groups(), /larger than max/);
  assert.ok(sent < 8 * 2 ** 20, `${sent} bytes of it were sent`);
  const slow = await providerOf((stream) => {
    respond(stream);
    const one = Buffer.from([0, 0, 0, 0, 1]);
    stream.write(one);
  });
  await assert.rejects(slow.groups(), /context deadline exceeded/);
});

void test("answers that are no messages are failures of the call", async () => {
  const bodies = ["", "hello", "\0\0\0\0\x05\xff\xff\xff\xff\xff", "\x01\0\0\0\x02no"];
  for (const body of bodies) {
    const provider = await providerOf((stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.from(body, "latin1"));
    });
    await assert.rejects(provider.groups(), Error, JSON.stringify(body));
  }
  const page = await providerOf((stream) => {
    stream.respond({ ":status": 502, "content-type": "text/html" });
    stream.end("<html>");
  });
  await assert.rejects(page.groups(), /unexpected payload format/);
});

const node: Node = makeNode("template");

/** Groups by id: what the provider says of each. */
function liar(groups: readonly Lie[]): NodeGroupProvider {
  const of = (id: string): Lie => groups.find((one) => one.id === id) ?? { id };
  return {
    refresh: () => Promise.resolve(),
    groups: () => Promise.resolve(groups.map(({ id, min = 0, max = 10 }) => ({ id, min, max }))),
    targetSize: (id) => Promise.resolve(of(id).target ?? 0),
    instances: (id) =>
      Promise.resolve(
        (of(id).ids ?? []).map((one) => ({ id: one, state: "running", error: undefined })),
      ),
    template: (id) => Promise.resolve(of(id).template ?? node),
    options: (id) => Promise.resolve(of(id).options),
    price: () => Promise.resolve(undefined),
    increase: () => Promise.resolve(),
    deleteNodes: () => Promise.resolve(),
    decreaseTarget: () => Promise.resolve(),
  };
}

interface Lie {
  readonly id: string;
  readonly min?: number;
  readonly max?: number;
  readonly target?: number;
  readonly ids?: readonly string[];
  readonly template?: Node;
  readonly options?: typeof testOptions.group;
}

async function seen(groups: readonly Lie[]): Promise<{ ids: string[]; said: string[] }> {
  const said: string[] = [];
  const note = (_: string, fields?: Readonly<Record<string, unknown>>): void => {
    said.push(`${String(fields?.["group"])}: ${String(fields?.["error"])}`);
  };
  const log = { ...silentLog, warn: note };
  const deps = { provider: liar(groups), clock: new FakeClock(), log };
  const selection = { named: undefined, isOwn: () => true };
  const view = new GroupView(deps, selection, testOptions.group);
  const read = await view.read(() => undefined);
  return { ids: read.map(({ id }) => id), said };
}

void test("groups whose sizes, names, instances or templates make no sense are left out; the others stay", async () => {
  const allocatable = (cpu: string): Node => ({ ...node, status: { allocatable: { cpu } } });
  const { ids, said } = await seen([
    { id: "good", target: 1, ids: ["a"] },
    { id: "negative", target: -5 },
    { id: "fraction", target: 1.5 },
    { id: "nan", target: Number.NaN },
    { id: "upside-down", min: 5, max: 2 },
    { id: "below", min: -1 },
    { id: "twice", ids: ["a", "a"] },
    { id: "nameless", ids: [""] },
    { id: "good" },
    { id: "a\nb" },
    { id: "" },
    { id: "x".repeat(300) },
    { id: "full", template: allocatable("-4") },
    { id: "words", template: allocatable("many") },
    { id: "bare", template: { ...node, status: {} } },
    { id: "hasty", options: { ...testOptions.group, scaleDownUnneededMs: -1 } },
    { id: "huge", target: 2 ** 30, max: 2 ** 30 },
    { id: "__proto__" },
    { id: "constructor" },
  ]);
  assert.deepEqual(ids, ["good", "__proto__", "constructor"]);
  assert.equal(said.length, 16);
  assert.ok(said.every((text) => text.length < 400));
});

void test("groups that want a million nodes together are planned for as far as 100,000", async () => {
  const groups = Array.from({ length: 100 }, (_, at) => ({ id: `g${at}`, max: 2e4, target: 1e4 }));
  const { ids } = await seen(groups);
  assert.equal(ids.length, 10);
});

void test("a group that promises nodes and never delivers gives them back, rests, and pods go elsewhere", () => {
  const cluster = testCluster();
  const book = new Book();
  for (let i = 0; i < 10; i++) cluster.setPod(ownedPod(`p${i}`, { cpu: "3" }));
  const random = new FakeRandom(1);
  const minuteMs = 60_000;
  const targets = { empty: 0, honest: 0 };
  let given = 0;
  for (let step = 0; step < 90; step++) {
    const nowMs = step * minuteMs;
    const groups = [
      testGroup("empty", { target: targets.empty, price: 0.01 }),
      testGroup("honest", { target: targets.honest, price: 1 }),
    ];
    const options = { ...testOptions, expanders: ["price" as const] };
    const snapshot = snapshotOf(cluster, groups, nowMs);
    for (const action of plan({ snapshot, book, options, random }).actions) {
      assert.ok(action.kind === "increase" || action.kind === "decrease", action.kind);
      const group = action.group as keyof typeof targets;
      targets[group] += action.delta;
      if (action.kind === "decrease") given -= action.delta;
      assert.ok(targets[group] >= 0 && targets[group] <= 10);
    }
    if (targets.honest === 10) return assert.equal(given, 10);
  }
  assert.fail("the pods never went to the group that delivers");
});

void test("names of groups, and what a provider says, stay values in the status and names in what-ifs", () => {
  const names = [
    "- x: y",
    "a:#b",
    '"',
    "{}",
    "&a",
    "*a",
    "x/../y",
    "upcoming-0",
    "template-node-for",
  ];
  const cluster = testCluster();
  // A Node as a copy of a template was once called.
  cluster.setNode(groupNode("template-node-for-template-node-for-upcoming-0", { cpu: "1" }));
  for (let i = 0; i < 30; i++) cluster.setPod(ownedPod(`p${i}`, { cpu: "3" }));
  const book = new Book();
  const error = { code: "x\n  injected: true", message: "m\n- name: fake\n  health: {}" };
  book.fail("{}", error, 0, testOptions);
  const groups = names.map((id) => testGroup(id, { target: 2, max: 5 }));
  const snapshot = snapshotOf(cluster, groups, 1_000);
  const made = plan({ snapshot, book, options: testOptions, random: new FakeRandom(1) });
  assert.ok(made.actions.some(({ kind }) => kind === "increase"));
  assert.equal(cluster.cache.nodes.size, 1, "the Node is still there, and no copy");
  const text = statusText(made, { book, transitions: new Map(), nowMs: 1_000 });
  const parsed = parseYaml(text, { bytesMax: 2 ** 20, depthMax: 20, aliasMax: 0 });
  assert.ok(parsed.kind === "ok", text);
  const { nodeGroups } = parsed.value as { nodeGroups: { name: string }[] };
  assert.deepEqual(
    nodeGroups.map(({ name }) => name),
    names,
  );
  assert.doesNotMatch(text, /^\s*injected:/m);
});
