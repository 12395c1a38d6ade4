/** Hostile regions, and hostile writers at home: what a coordinator must not do for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { regionAccess, regionKubeconfig } from "#cmd/coordinator/region-access.ts";
import { annotations, labels, mcsLabels, mcsRefs, refs } from "#regions/names.ts";
import {
  deployment,
  deployments,
  placement,
  RegionsWorld,
  system,
  type FakeRegion,
} from "#regions/testing/world.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function kubeconfig(cluster: object, user: object): string {
  return base64(
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://region:6443", ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
}

test("a region's Secret runs no program here, reads no file here, and sends no token in the clear", () => {
  const token = { token: "t" };
  const refused: readonly (readonly [object, object, RegExp])[] = [
    [
      {},
      { exec: { command: "/bin/sh", apiVersion: "client.authentication.k8s.io/v1" } },
      /exec is not taken/,
    ],
    [{}, { tokenFile: "/etc/passwd" }, /tokenFile is not taken/],
    [{}, { "client-certificate": "/etc/passwd" }, /client-certificate is not taken/],
    [{}, { "client-key": "/root/key" }, /client-key is not taken/],
    [{}, { ...token, as: "system:admin" }, /as is not taken/],
    [{ "certificate-authority": "/etc/passwd" }, token, /certificate-authority is not taken/],
    [{ "insecure-skip-tls-verify": true }, token, /insecure-skip-tls-verify is not taken/],
    [{ "proxy-url": "http://evil" }, token, /proxy-url is not taken/],
    [{ server: "http://region:6443" }, token, /no https:\/\/ address/],
    [{ server: "file:///etc/passwd" }, token, /no https:\/\/ address/],
  ];
  for (const [cluster, user, why] of refused) {
    assert.throws(() => regionAccess(kubeconfig(cluster, user)), why);
  }
  assert.throws(() => regionAccess(base64(" ".repeat(70_000))), /longer than 64 KiB/);
  assert.throws(() => regionAccess("%%%"), /names no context/);
  const made = regionAccess(regionKubeconfig({ server: "https://r:1", ca: "pem" }, base64("tok")));
  assert.deepEqual([made.server, made.ca, made.bearerToken?.()], ["https://r:1", "pem", "tok"]);
});

async function placedWorld(): Promise<RegionsWorld> {
  const world = new RegionsWorld();
  for (const name of ["eu", "evil"]) world.join(name);
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  world.put(deployments, deployment("web", 6));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  return world;
}

test("a region that forges the status of its part counts for its share and its surge, and moves nothing", async () => {
  const world = await placedWorld();
  const evil = world.regions.get("evil") ?? assert.fail();
  const part = evil.api.peek<AnyObject>(deployments, "default", "web");
  evil.isIdle = true;
  const claims = {
    replicas: 1e9,
    updatedReplicas: 1e9,
    readyReplicas: 1e9,
    availableReplicas: 1e9,
  };
  evil.api.put(deployments, {
    ...part,
    status: { ...claims, observedGeneration: 1e9 },
  } as AnyObject);
  const status = (): Readonly<Record<string, number>> =>
    (world.home.peek<AnyObject>(deployments, "default", "web")?.["status"] ?? {}) as Record<
      string,
      number
    >;
  await world.advance(5_000);
  // Its share of 3, and the surge of one that a rolling update may have.
  assert.equal(status()["readyReplicas"], 3 + 3 + 1);
  assert.equal(world.division("web"), "eu=3 evil=3");
  await world.close();
});

test("an object that a region marks as another placement's, or another object's, moves nothing elsewhere", async () => {
  const world = await placedWorld();
  const evil = world.regions.get("evil") ?? assert.fail();
  const eu = world.regions.get("eu") ?? assert.fail();
  for (let i = 0; i < 20; i++) {
    evil.api.put(deployments, {
      ...deployment(`forged-${i}`, 5),
      metadata: {
        name: `forged-${i}`,
        namespace: "kube-system",
        uid: `forged-${i}`,
        labels: { [labels.placement]: "placement-web" },
        annotations: { [annotations.source]: "uid-web", [annotations.generation]: "99" },
      },
    });
  }
  world.forgetCalls();
  await world.advance(10_000);
  const writes = world.writes().filter((write) => !write.startsWith("evil "));
  assert.deepEqual(writes, [], "what it forged is taken down there, and touches nobody else");
  assert.equal(eu.api.peekAll(deployments).length, 1);
  assert.equal(evil.api.peekAll(deployments).length, 1);
  await world.close();
});

test("a summary of any size or content costs a bounded profile, and claims no place of its own", async () => {
  const world = new RegionsWorld();
  const suffix = "summary.regions.pilothouse.dev";
  const huge = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [
      `class-${i}.${suffix}`,
      `any/any n=999999999 t= c=${"999999999*999999999*999999999*999999999,".repeat(1_000)}`,
    ]),
  );
  world.join("evil", {
    summary: { [suffix]: "nodes=999999999999999 ready=1 pods=0 pending=0", ...huge },
  });
  world.join("eu");
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  world.put(deployments, deployment("web", 6));
  const regions = { weights: "FreeCapacity", each: { max: 4 } };
  world.put(refs.placements, placement("web", { regions }));
  await world.start();
  await world.advance(10_000);
  const profile = world.home.peek<AnyObject>(refs.profiles, system, "evil");
  const bytes = JSON.stringify(profile).length;
  assert.ok(bytes < 8_000, `${bytes} bytes`);
  assert.equal(
    world.division("web"),
    "eu=2 evil=4",
    "bounds of the placement hold whatever it claims",
  );
  await world.close();
});

test("an agent's old grant, or one that somebody else wrote, is not the coordinator's word", async () => {
  const world = new RegionsWorld();
  const eu = world.join("eu", { agentRate: 1 });
  await world.start();
  await world.advance(20_000);
  const lease = (): AnyObject | undefined => eu.api.peek(refs.leases, system, "region-fence");
  const granted = lease()?.metadata?.annotations?.[annotations.granted];
  assert.notEqual(granted, undefined);
  eu.isCut = true;
  eu.api.cutWatches();
  const sts = { ...deployment("db", 1), kind: "StatefulSet" };
  const notes = { [annotations.fenced]: "true" };
  const statefulSets = { group: "apps", version: "v1", resource: "statefulsets" };
  const marks = { [labels.placement]: "p" };
  eu.api.put(statefulSets, {
    ...sts,
    metadata: { ...sts.metadata, labels: marks, annotations: notes },
  });
  for (let i = 0; i < 10; i++) {
    await world.advance(5_000);
    await eu.api.patch(refs.leases, system, "region-fence", "merge", {
      metadata: { annotations: { [annotations.granted]: i % 2 === 0 ? granted : "made up" } },
    });
  }
  const stopped = eu.api.peek<AnyObject>(statefulSets, "default", "db");
  const { replicas } = (stopped?.["spec"] ?? {}) as { readonly replicas?: number };
  assert.equal(replicas, 0);
  await world.close();
});

test("nothing is placed into the namespaces that a region's own plane lives in", async () => {
  const world = new RegionsWorld();
  const eu = world.join("eu");
  for (const namespace of ["kube-system", system]) {
    const web = deployment("web", 1);
    world.put(refs.namespaces, { metadata: { name: namespace, uid: namespace } });
    world.put(deployments, {
      ...web,
      metadata: { ...web.metadata, namespace, uid: `in-${namespace}` },
    });
    const mine = placement("web", {});
    world.put(refs.placements, {
      ...mine,
      metadata: { ...mine.metadata, namespace, uid: `of-${namespace}` },
    });
  }
  await world.start();
  assert.deepEqual(eu.api.peekAll(deployments), []);
  const refused = world.home.peek<AnyObject>(refs.placements, "kube-system", "web");
  assert.match(JSON.stringify(refused?.["status"]), /"ReservedNamespace"/);
  await world.close();
});

/** A Service, a slice and an export of that name, as a region shows them. */
function exportFrom(
  api: FakeRegion["api"],
  namespace: string,
  name: string,
  address: string,
): void {
  const metadata = { namespace, name, uid: `${namespace}-${name}` };
  const ports = [{ port: 80, protocol: "TCP" }];
  api.put<AnyObject>(refs.services, { metadata, spec: { clusterIP: "10.0.0.1", ports } });
  api.put<AnyObject>(refs.endpointSlices, {
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports,
    endpoints: [{ addresses: [address] }],
  });
  api.put<AnyObject>(mcsRefs.exports, { metadata });
}

test("a region's exports reach no namespace of a plane, none of another residency, and none that is not there", async () => {
  const world = new RegionsWorld();
  const residency = (value: string) => ({ labels: { [labels.residency]: value } });
  const eu = world.join("eu", { hasServices: true, ...residency("europe") });
  const evil = world.join("evil", { hasServices: true, ...residency("elsewhere") });
  const namespace = { metadata: { name: "default", uid: "ns", ...residency("europe") } };
  world.put(refs.namespaces, namespace);
  for (const [where, name] of [
    ["default", "web"],
    ["kube-system", "kube-dns"],
    [system, "web"],
    ["made-up", "web"],
  ] as const) {
    exportFrom(evil.api, where, name, "10.6.6.6");
  }
  eu.api.put(refs.namespaces, { metadata: { name: "kube-system", uid: "kube-system" } });
  await world.start();
  await world.advance(120_000);
  assert.deepEqual(eu.api.peekAll(mcsRefs.imports), []);
  assert.deepEqual(eu.api.peekAll(refs.endpointSlices), []);
  assert.equal(eu.api.peek(refs.namespaces, "", "made-up"), undefined);
  await world.close();
});

test("a region that marks its objects as imports of others deletes and changes nothing elsewhere", async () => {
  const world = new RegionsWorld();
  const eu = world.join("eu", { hasServices: true });
  const evil = world.join("evil", { hasServices: true });
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  exportFrom(eu.api, "default", "web", "10.1.0.1");
  await world.start();
  await world.advance(2_000, 100);
  const [marks] = evil.api.peekAll<AnyObject>(mcsRefs.imports);
  const own = { ...marks?.metadata?.labels, [mcsLabels.cluster]: "eu" };
  for (let i = 0; i < 50; i++) {
    evil.api.put<AnyObject>(refs.endpointSlices, {
      metadata: {
        name: `forged-${i}`,
        namespace: "default",
        uid: `forged-${i}`,
        labels: own,
        annotations: marks?.metadata?.annotations ?? {},
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.6.6.6"] }],
    });
  }
  world.forgetCalls();
  await world.advance(30_000);
  assert.deepEqual(
    world.writes().filter((write) => !write.startsWith("evil ")),
    [],
  );
  assert.doesNotMatch(JSON.stringify(eu.api.peekAll(refs.endpointSlices)), /10\.6\.6\.6/);
  const left = evil.api.peekAll<AnyObject>(refs.endpointSlices).map((one) => one.metadata?.name);
  assert.equal(left.length, 1, "what it forged is taken down there");
  await world.close();
});

test("a region that exports without end is read up to a bound, and the others are served", async () => {
  const world = new RegionsWorld();
  const eu = world.join("eu", { hasServices: true });
  const evil = world.join("evil", { hasServices: true });
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  for (let i = 0; i < 1_200; i++) {
    const metadata = { namespace: "default", name: `s${i}`, uid: `s${i}` };
    evil.api.put<AnyObject>(mcsRefs.exports, { metadata });
  }
  exportFrom(eu.api, "default", "web", "10.1.0.1");
  await world.start();
  await world.advance(3_000, 500);
  const watches = evil.api.calls.filter(
    ({ verb, resource }) => verb === "list" && resource === "services",
  );
  assert.ok(watches.length <= 1_001, `${watches.length} watches of its Services`);
  assert.equal(evil.api.peekAll(mcsRefs.imports).length, 1);
  await world.close();
});
