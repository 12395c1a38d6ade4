/** Hostile clients of the discovery service: nobody, somebody without rights, and what they may send. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { status } from "@grpc/grpc-js";
import type { IssuedCertificate } from "#auth/pki.ts";
import { deltaRequest, stateRequest } from "#xds/testing/test-client.ts";
import { clusterType, endpointsType, listenerType } from "#xds/type-urls.ts";
import { RelayedPlane } from "./relayed-plane.ts";
import { XdsClient } from "./xds-client.ts";

let world: RelayedPlane;
let ann: IssuedCertificate;
const open: XdsClient[] = [];
const mine = "web.mine.svc.cluster.local:80";
const theirs = "web.theirs.svc.cluster.local:80";
/** The address in a slice of this number. */
const address = (i: number): string => `10.1.2.${i}`;

before(async () => {
  world = await RelayedPlane.start({}, "nodes", "served");
  ann = world.certificate("ann");
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const apiGroup = "rbac.authorization.k8s.io";
  const verbs = ["list", "watch"];
  const rules = [
    { apiGroups: [""], resources: ["services"], verbs },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
  ];
  await write("POST", `${rbac}/clusterroles`, { metadata: { name: "discovers" }, rules });
  for (const namespace of ["mine", "theirs"]) {
    await write("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const ports = [{ name: "http", port: 80 }];
    const service = { metadata: { name: "web" }, spec: { clusterIP: "None", ports } };
    await write("POST", `/api/v1/namespaces/${namespace}/services`, service);
    await write("POST", `${slices}/${namespace}/endpointslices`, slice(1));
  }
  const roleRef = { apiGroup, kind: "ClusterRole", name: "discovers" };
  const subjects = [{ kind: "User", name: "ann", apiGroup }];
  const binding = { metadata: { name: "discovers" }, subjects, roleRef };
  await write("POST", `${rbac}/namespaces/mine/rolebindings`, binding);
});

afterEach(() => {
  for (const client of open.splice(0)) client.close();
});

after(() => world.stop());

const slices = "/apis/discovery.k8s.io/v1/namespaces";

function slice(i: number): object {
  return {
    metadata: { name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [address(i)], conditions: { ready: true } }],
  };
}

async function write(method: string, path: string, body: object): Promise<void> {
  const { status: code, text } = await world.ask("plane", method, path, { as: world.admin, body });
  assert.ok(code < 300, text);
}

interface Who {
  readonly as?: IssuedCertificate;
  readonly token?: string;
  readonly protocol?: "delta" | "state";
}

function dial({ protocol = "delta", ...who }: Who): XdsClient {
  const ca = world.pki.authority.certificate;
  const client = new XdsClient({ address: world.xdsAddress, ca, ...who }, protocol);
  open.push(client);
  return client;
}

/** Asks until the mirror shows it: a write is answered before the relay has seen it. */
async function until(name: string, text: string): Promise<void> {
  const client = dial({ as: world.admin });
  client.send(deltaRequest({ type: endpointsType, subscribe: [name] }));
  for (;;) {
    const { resources, nonce } = await client.delta();
    client.send(deltaRequest({ type: endpointsType, nonce }));
    const any = resources.get(name)?.any ?? new Uint8Array(0);
    if (Buffer.from(any).includes(text)) return;
  }
}

test("who shows no credential, or one that does not count, is not served", async () => {
  for (const who of [{}, { token: "made up" }, { token: "" }, { token: "a b" }]) {
    const client = dial(who);
    client.send(deltaRequest({ type: clusterType }));
    const { code, details } = await client.end();
    assert.deepEqual([code, details], [status.UNAUTHENTICATED, "Unauthorized"]);
  }
});

test("a client sees what its rights select; names of other namespaces do not exist for it", async () => {
  await until(mine, address(1));
  for (const protocol of ["delta", "state"] as const) {
    const client = dial({ as: ann, protocol });
    if (protocol === "delta") {
      client.send(deltaRequest({ type: endpointsType, subscribe: [theirs, mine] }));
      const { resources, removed } = await client.delta();
      assert.deepEqual([[...resources.keys()], removed], [[mine], [theirs]]);
    } else {
      client.send(stateRequest({ type: listenerType, names: [theirs, mine] }));
      const { resources } = await client.state();
      assert.equal(resources.length, 1);
      assert.ok(!Buffer.from(resources[0] as Uint8Array).includes("theirs"));
    }
  }
});

test("who may not read all namespaces cannot subscribe to everything", async () => {
  for (const subscribe of [[], ["*"]]) {
    const client = dial({ as: ann });
    client.send(deltaRequest({ type: clusterType, subscribe }));
    const { code, details } = await client.end();
    assert.equal(code, status.PERMISSION_DENIED);
    assert.match(details, /all namespaces/);
  }
});

test("hostile names are names of nothing", async () => {
  const names = [
    "__proto__",
    "constructor",
    "",
    ":",
    ":80",
    "a.b.c.svc.cluster.local:80",
    "..svc.cluster.local:80",
    "web.mine.svc.cluster.local",
    "web.mine.svc.cluster.local:080",
    "WEB.mine.svc.cluster.local:80",
    "web.mine.svc.cluster.local:80\u0000",
    "\ufeffweb.mine.svc.cluster.local:80",
    "web.mine/../theirs.svc.cluster.local:80",
  ];
  const client = dial({ as: world.admin });
  client.send(deltaRequest({ type: endpointsType, subscribe: names }));
  const { resources, removed } = await client.delta();
  assert.equal(resources.size, 0);
  assert.deepEqual([...removed].sort(), [...names].sort());
});

test("100,000 names, a name too long and too many namespaces end the stream", async () => {
  const many = Array.from({ length: 100_000 }, (_, i) => `a${i}.mine.svc.cluster.local:80`);
  const spread = Array.from({ length: 2_000 }, (_, i) => `web.n${i}.svc.cluster.local:80`);
  const cases: readonly [readonly string[], number][] = [
    [many, status.RESOURCE_EXHAUSTED],
    [many.slice(0, 10_001), status.RESOURCE_EXHAUSTED],
    [["x".repeat(301)], status.INVALID_ARGUMENT],
    [spread, status.RESOURCE_EXHAUSTED],
  ];
  for (const [subscribe, expected] of cases) {
    const client = dial({ as: ann });
    client.send(deltaRequest({ type: endpointsType, subscribe }));
    assert.equal((await client.end()).code, expected);
  }
});

test("a collection as it is goes by the rights on that collection, not on Services", async () => {
  const ask = async (collection: string, subscribe: readonly string[]): Promise<XdsClient> => {
    const client = dial({ as: ann });
    client.send(deltaRequest({ type: `${collection}/google.protobuf.Struct`, subscribe }));
    return client;
  };
  const services = await (await ask("v1/services", ["mine/web", "theirs/web"])).delta();
  assert.deepEqual(
    [[...services.resources.keys()], services.removed],
    [["mine/web"], ["theirs/web"]],
  );
  for (const collection of ["v1/nodes", "v1/secrets", "v1/namespaces"]) {
    const names = ["mine", "mine/web", "/mine", "../mine"];
    const { resources, removed } = await (await ask(collection, names)).delta();
    assert.deepEqual([resources.size, removed.length], [0, 4], collection);
  }
  const everything = await ask("v1/services", ["*"]);
  assert.equal((await everything.end()).code, status.PERMISSION_DENIED);
});

test("a Gateway that is defined later is served to readers of everything, and to nobody else", async () => {
  const group = "gateway.networking.k8s.io";
  const names = {
    plural: "gateways",
    singular: "gateway",
    kind: "Gateway",
    listKind: "GatewayList",
  };
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  await write("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: {
      name: `gateways.${group}`,
      annotations: { "api-approved.kubernetes.io": "https://example.com" },
    },
    spec: { group, names, scope: "Namespaced", versions },
  });
  const path = `/apis/${group}/v1/namespaces/mine/gateways`;
  for (;;) {
    const { status: code } = await world.ask("plane", "GET", path, { as: world.admin });
    if (code === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const listeners = [{ name: "http", port: 8081, protocol: "HTTP" }];
  const body = { apiVersion: `${group}/v1`, kind: "Gateway", metadata: { name: "edge" } };
  await write("POST", path, { ...body, spec: { listeners } });
  const reader = dial({ as: world.admin });
  reader.send(deltaRequest({ type: listenerType, subscribe: ["gateway-8081"] }));
  for (let served = false; !served;) {
    const { resources, nonce } = await reader.delta();
    reader.send(deltaRequest({ type: listenerType, nonce }));
    served = resources.has("gateway-8081");
  }
  const other = dial({ as: ann });
  other.send(deltaRequest({ type: listenerType, subscribe: ["gateway-8081"] }));
  assert.deepEqual((await other.delta()).removed, ["gateway-8081"]);
});

test("a giant message and bytes that are no message end the stream alone", async () => {
  const giant = dial({ as: world.admin });
  giant.send(new Uint8Array(5 * 2 ** 20));
  assert.equal((await giant.end()).code, status.RESOURCE_EXHAUSTED);
  for (const bytes of [
    [0xff, 0xff, 0xff],
    [0x12, 0xff, 0xff, 0xff, 0x7f],
    [0x12, 1, 0xf8],
  ]) {
    const client = dial({ as: world.admin });
    client.send(Uint8Array.from(bytes));
    assert.equal((await client.end()).code, status.INVALID_ARGUMENT);
  }
  const well = dial({ as: world.admin });
  well.send(deltaRequest({ type: endpointsType, subscribe: [mine] }));
  assert.equal((await well.delta()).resources.size, 1);
});

test("types that nobody serves have no resources; none, or too many, end the stream", async () => {
  const client = dial({ as: world.admin });
  client.send(deltaRequest({ type: "type.googleapis.com/no.such.Type", subscribe: ["x"] }));
  assert.deepEqual((await client.delta()).removed, ["x"]);
  for (let i = 0; i < 16; i++) client.send(deltaRequest({ type: `t${i}`, subscribe: ["x"] }));
  assert.equal((await client.end()).code, status.RESOURCE_EXHAUSTED);
  const none = dial({ as: world.admin });
  none.send(deltaRequest({ type: "", subscribe: ["x"] }));
  assert.equal((await none.end()).code, status.INVALID_ARGUMENT);
});

test("a client that never acknowledges gets one response of a type, however much changes", async () => {
  const silent = dial({ as: world.admin });
  silent.send(deltaRequest({ type: endpointsType, subscribe: [mine] }));
  const first = await silent.delta();
  for (let i = 2; i < 12; i++) await write("PUT", `${slices}/mine/endpointslices/web-1`, slice(i));
  await until(mine, address(11));
  assert.equal(silent.unread, 0);
  silent.send(deltaRequest({ type: endpointsType, nonce: first.nonce }));
  const { resources } = await silent.delta();
  assert.ok(Buffer.from(resources.get(mine)?.any ?? []).includes(address(11)));
});

test("a storm of refusals sends nothing again, and is shown with bounded reasons", async () => {
  const client = dial({ as: world.admin });
  client.send(deltaRequest({ type: endpointsType, subscribe: [mine] }));
  const { nonce } = await client.delta();
  const error = "no ".repeat(10_000);
  for (let i = 0; i < 1_000; i++) client.send(deltaRequest({ type: endpointsType, nonce, error }));
  client.send(deltaRequest({ type: endpointsType, subscribe: [theirs] }));
  assert.deepEqual([...(await client.delta()).resources.keys()], [theirs]);
  assert.equal(client.unread, 0);
  const { text } = await world.ask("relay", "GET", "/relay/xds", { as: world.admin });
  const { refusals } = JSON.parse(text) as { refusals: readonly { reason: string }[] };
  assert.equal(refusals.filter(({ reason }) => reason.startsWith("no no")).length, 1);
  assert.ok(refusals.every(({ reason }) => reason.length <= 500));
  const metrics = await world.ask("relay", "GET", "/relay/metrics", { as: world.admin });
  assert.match(metrics.text, /relay_xds_nacks_total\{type="ClusterLoadAssignment",code="3"\} 1/);
});

test("who may not read metrics does not see who refused what", async () => {
  assert.equal((await world.ask("relay", "GET", "/relay/xds", { as: ann })).status, 403);
  assert.equal((await world.ask("relay", "GET", "/relay/xds")).status, 401);
});
