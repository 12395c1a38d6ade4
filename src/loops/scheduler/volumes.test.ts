/** Pods with claims: which nodes can take them, and how claims that wait for a consumer are bound. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import { claimBoundTo } from "#api/volumes/binding.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";

const core = (resource: string) => ({ group: "", version: "v1", resource });
const storage = (resource: string) => ({ group: "storage.k8s.io", version: "v1", resource });
const volumesRef = core("persistentvolumes");
const claimsRef = core("persistentvolumeclaims");
const classesRef = storage("storageclasses");

function volume(name: string, host: string | undefined, fields: object = {}): PersistentVolume {
  const expression = { key: "kubernetes.io/hostname", operator: "In", values: [host ?? ""] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
  return {
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      ...(host === undefined ? {} : { nodeAffinity: { required } }),
      ...fields,
    },
    status: { phase: "Available" },
  };
}

function claim(name: string, spec: object = {}, metadata: object = {}): PersistentVolumeClaim {
  const resources = { requests: { storage: "1Gi" } };
  const base = { accessModes: ["ReadWriteOnce"], resources, storageClassName: "local" };
  return {
    metadata: { name, namespace: "a", uid: `uid-${name}`, ...metadata },
    spec: { ...base, ...spec },
    status: { phase: "Pending" },
  };
}

const done = { annotations: { "pv.kubernetes.io/bind-completed": "yes" } };

function user(name: string, ...claims: readonly string[]): Pod {
  const volumes = claims.map((claimName, i) => ({
    name: `v${i}`,
    persistentVolumeClaim: { claimName },
  }));
  return makePod(name, { spec: { volumes } });
}

function cluster(api: FakeApi): void {
  for (const name of ["n1", "n2"]) api.put(nodesRef, makeNode(name));
  const delayed = { volumeBindingMode: "WaitForFirstConsumer" };
  api.put(classesRef, {
    metadata: { name: "local" },
    provisioner: "kubernetes.io/no-provisioner",
    ...delayed,
  } as object);
  api.put(classesRef, {
    metadata: { name: "csi" },
    provisioner: "csi.example.com",
    ...delayed,
  } as object);
  api.put(classesRef, {
    metadata: { name: "now" },
    provisioner: "csi.example.com",
    volumeBindingMode: "Immediate",
  } as object);
}

/** What the binder does when the scheduler has chosen. */
function bindClaims(api: FakeApi): void {
  for (const one of api.peekAll<PersistentVolume>(volumesRef)) {
    const { namespace = "", name = "" } = one.spec?.claimRef ?? {};
    const now = api.peek<PersistentVolumeClaim>(claimsRef, namespace, name);
    if (now !== undefined && (now.spec?.volumeName ?? "") === "") {
      api.put(claimsRef, { ...claimBoundTo(now, one), status: { phase: "Bound" } });
    }
  }
}

const none = "0/2 nodes are available: ";
const futile = " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
const verdicts: readonly (readonly [string, (api: FakeApi) => void, string])[] = [
  [
    "an immediate claim must be bound first",
    (api) => void api.put(claimsRef, claim("c", { storageClassName: "now" })),
    "pod has unbound immediate PersistentVolumeClaims.",
  ],
  [
    "a claim that names a volume does not wait for a consumer",
    (api) => void api.put(claimsRef, claim("c", { volumeName: "v" })),
    "pod has unbound immediate PersistentVolumeClaims.",
  ],
  [
    "no volume suits a claim that waits",
    (api) => void api.put(claimsRef, claim("c")),
    "2 node(s) didn't find available persistent volumes to bind.",
  ],
  [
    "a bound volume is elsewhere",
    (api) => {
      api.put(claimsRef, claim("c", { volumeName: "v" }, done));
      api.put(volumesRef, volume("v", "n3"));
    },
    "2 node(s) didn't match PersistentVolume's node affinity.",
  ],
  [
    "a bound volume is gone",
    (api) => void api.put(claimsRef, claim("c", { volumeName: "v" }, done)),
    'persistentvolume "v" not found.',
  ],
  [
    "a bound volume is in another zone",
    (api) => {
      for (const node of ["n1", "n2"]) api.put(nodesRef, makeNode(node, { zone: "a" }));
      const label = "failure-domain.beta.kubernetes.io/zone";
      const metadata = { name: "v", labels: { [label]: "b__c" } };
      api.put(claimsRef, claim("c", { volumeName: "v" }, done));
      api.put(volumesRef, { ...volume("v", undefined), metadata });
    },
    "2 node(s) had no available volume zone.",
  ],
  [
    "a claim was lost",
    (api) =>
      void api.put(claimsRef, {
        ...claim("c", { volumeName: "v" }, done),
        status: { phase: "Lost" },
      }),
    'persistentvolumeclaim "c" bound to non-existent persistentvolume "v".',
  ],
  [
    "a driver that reports its space has none",
    (api) => {
      api.put(claimsRef, claim("c", { storageClassName: "csi" }));
      api.put(storage("csidrivers"), {
        metadata: { name: "csi.example.com" },
        spec: { storageCapacity: true },
      } as object);
      api.put(storage("csistoragecapacities"), {
        metadata: { name: "n1-free", namespace: "kube-system" },
        storageClassName: "csi",
        nodeTopology: { matchLabels: { "kubernetes.io/hostname": "n1" } },
        capacity: "512Mi",
      } as object);
    },
    "2 node(s) did not have enough free storage.",
  ],
];
for (const [what, seed, text] of verdicts) {
  test(`a pod is refused in upstream's words: ${what}`, async () => {
    const rig = await startRig((api) => {
      cluster(api);
      seed(api);
      api.put(podsRef, user("p", "c"));
    });
    assert.equal(rig.verdictOn("p"), none + text + futile);
    await rig.end();
  });
}

test("a pod waits for the ephemeral volume controller, and takes no claim that is not its own", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    const template = { spec: { resources: {} } };
    const volumes = [{ name: "v", ephemeral: { volumeClaimTemplate: template } }];
    api.put(podsRef, makePod("p", { spec: { volumes } }));
    api.put(podsRef, makePod("q", { spec: { volumes } }));
    api.put(claimsRef, claim("q-v"));
  });
  assert.match(
    rig.verdictOn("p"),
    /waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"/,
  );
  assert.match(rig.verdictOn("q"), /PVC a\/q-v was not created for pod a\/q \(pod is not owner\)/);
  await rig.end();
});

test("a claim that waits gets a volume of the pod's node before the pod is bound", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(volumesRef, volume("on-n2", "n2"));
    api.put(claimsRef, claim("c"));
    api.put(podsRef, user("p", "c"));
  });
  const chosen = () => rig.api.peek<PersistentVolume>(volumesRef, "", "on-n2");
  assert.equal(chosen()?.spec?.claimRef?.uid, "uid-c");
  assert.equal(chosen()?.metadata?.annotations?.["pv.kubernetes.io/bound-by-controller"], "yes");
  assert.equal(rig.nodeOf("p"), "", "the binder has not bound the claim yet");
  bindClaims(rig.api);
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("p"), "n2");
  await rig.end();
});

test("two claims of one pod get two volumes of one node; two pods do not get one volume", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(volumesRef, volume("a", "n1"));
    api.put(volumesRef, volume("b", "n1"));
    api.put(volumesRef, volume("c", "n2"));
    for (const name of ["c1", "c2", "c3", "c4"]) api.put(claimsRef, claim(name));
    api.put(podsRef, user("p", "c1", "c2"));
    api.put(podsRef, user("q", "c3"));
    api.put(podsRef, user("r", "c4"));
  });
  bindClaims(rig.api);
  await rig.clock.advance(50);
  assert.deepEqual([rig.nodeOf("p"), rig.nodeOf("q"), rig.nodeOf("r")], ["n1", "n2", ""]);
  assert.match(rig.verdictOn("r"), /2 node\(s\) didn't find available persistent volumes to bind/);
  await rig.end();
});

test("a claim to provision gets the node's name; the pod is bound when the volume is there", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(claimsRef, claim("c", { storageClassName: "csi" }));
    api.put(podsRef, user("p", "c"));
  });
  const now = () => rig.api.peek<PersistentVolumeClaim>(claimsRef, "a", "c");
  const node = now()?.metadata?.annotations?.["volume.kubernetes.io/selected-node"] ?? "";
  assert.match(node, /^n[12]$/);
  const expectedNode = () => rig.api.peek<Pod>(podsRef, "a", "p")?.status?.nominatedNodeName;
  assert.equal(expectedNode(), node, "others see where it is going to be");
  assert.equal(rig.scheduler.metrics().bindsInFlight, 0, "a wait for volumes takes no bind");
  rig.api.put(volumesRef, volume("made", node, { storageClassName: "csi" }));
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("p"), "");
  const made = rig.api.peek<PersistentVolume>(volumesRef, "", "made");
  rig.api.put(claimsRef, { ...claimBoundTo(now() ?? {}, made ?? {}), status: { phase: "Bound" } });
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("p"), node);
  await rig.end();
});

test("a provisioner that gives the node back, and one that never answers, let the pod be decided anew", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(claimsRef, claim("c", { storageClassName: "csi" }));
    api.put(podsRef, user("p", "c"));
  });
  const key = "volume.kubernetes.io/selected-node";
  const now = () => rig.api.peek<PersistentVolumeClaim>(claimsRef, "a", "c");
  rig.api.put(claimsRef, {
    ...now(),
    metadata: { ...now()?.metadata, annotations: { other: "x" } },
  });
  await rig.clock.advance(50);
  const text =
    'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"';
  assert.deepEqual(rig.events("FailedScheduling"), [text]);
  const { nominatedNodeName } = rig.api.peek<Pod>(podsRef, "a", "p")?.status ?? {};
  assert.equal(nominatedNodeName, undefined, "it is not going there after all");
  await rig.clock.advance(1_100);
  assert.notEqual(now()?.metadata?.annotations?.[key], undefined);
  await rig.clock.advance(600_000);
  assert.match(rig.events("FailedScheduling").join(), /binding volumes: context deadline exceeded/);
  await rig.end();
});

test("a volume that another took meanwhile is not taken, and what was assumed is given back", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(claimsRef, claim("c"));
    api.put(volumesRef, volume("v", "n1"));
    const down = Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
    api.fail(({ verb, resource }) => verb === "update" && resource === "persistentvolumes", down);
    api.put(podsRef, user("p", "c"));
  });
  assert.equal(rig.api.peek<PersistentVolume>(volumesRef, "", "v")?.spec?.claimRef, undefined);
  await rig.clock.advance(1_100);
  assert.equal(rig.api.peek<PersistentVolume>(volumesRef, "", "v")?.spec?.claimRef?.name, "c");
  await rig.end();
});

test("a pod deleted while it waits for its volumes is not bound, and the scheduler stops with pods that wait", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    for (const name of ["c", "d"]) api.put(claimsRef, claim(name, { storageClassName: "csi" }));
    api.put(podsRef, user("p", "c"));
    api.put(podsRef, user("q", "d"));
  });
  rig.api.drop(podsRef, "a", "p");
  await rig.clock.advance(50);
  assert.equal(rig.scheduler.metrics().placedPods, 1, "q alone is assumed");
  await rig.end();
});

test("a volume wakes pods that it may help; another's claim does not", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.put(claimsRef, claim("c"));
    api.put(podsRef, user("p", "c"));
  });
  await rig.clock.advance(2_000);
  const before = rig.scheduler.metrics().decisions;
  rig.api.put(claimsRef, claim("other"));
  await rig.clock.advance(2_000);
  assert.equal(rig.scheduler.metrics().decisions, before);
  rig.api.put(volumesRef, volume("v", "n1"));
  await rig.clock.advance(2_000);
  bindClaims(rig.api);
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("p"), "n1");
  await rig.end();
});

test("a volume with zones goes to a node of one of them, or to a node that names none", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { zone: "a" }));
    api.put(nodesRef, makeNode("n2", { zone: "c" }));
    const metadata = { name: "v", labels: { "topology.kubernetes.io/zone": "b__c" } };
    api.put(claimsRef, claim("c", { volumeName: "v" }, done));
    api.put(volumesRef, { ...volume("v", undefined), metadata });
    api.put(podsRef, user("p", "c"));
  });
  assert.equal(rig.nodeOf("p"), "n2");
  rig.api.drop(nodesRef, "", "n2");
  rig.api.put(nodesRef, makeNode("n3"));
  rig.api.put(podsRef, user("q", "c"));
  await rig.clock.advance(50);
  assert.equal(rig.nodeOf("q"), "n3");
  await rig.end();
});

/** Volumes of a CSI driver, bound; a node may have `limit` of them. */
function csiVolumes(api: FakeApi, names: readonly string[], limit: number): void {
  for (const name of names) {
    const csi = { driver: "csi.example.com", volumeHandle: `h-${name}` };
    api.put(volumesRef, volume(`v-${name}`, undefined, { csi }));
    api.put(claimsRef, claim(name, { volumeName: `v-${name}` }, done));
  }
  api.put(storage("csinodes"), csiNode(limit));
}

function csiNode(count: number): object {
  const drivers = [{ name: "csi.example.com", nodeID: "n1", allocatable: { count } }];
  return { metadata: { name: "n1" }, spec: { drivers } };
}

const full =
  "0/1 nodes are available: 1 node(s) exceed max volume count. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";

test("a node takes as many volumes of a driver as its CSINode says, a shared one counts once", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    csiVolumes(api, ["a", "b", "c"], 2);
    // Decided in one go: what is assumed counts.
    for (const [pod, name] of ["a", "a", "b", "c"].entries())
      api.put(podsRef, user(`p${pod}`, name));
  });
  assert.deepEqual(
    ["p0", "p1", "p2"].map((pod) => rig.nodeOf(pod)),
    ["n1", "n1", "n1"],
  );
  assert.equal(rig.verdictOn("p3"), full);
  // A higher limit lets it in.
  rig.api.put(storage("csinodes"), csiNode(3));
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("p3"), "n1");
  await rig.end();
});

test("volumes still attached count, claims to provision too; what goes makes room", async () => {
  const rig = await startRig((api) => {
    cluster(api);
    api.drop(nodesRef, "", "n2");
    csiVolumes(api, ["a"], 1);
    api.put(storage("volumeattachments"), {
      metadata: { name: "va" },
      spec: {
        attacher: "csi.example.com",
        nodeName: "n1",
        source: { persistentVolumeName: "v-a" },
      },
    } as object);
    api.put(claimsRef, claim("new", { storageClassName: "csi" }));
    api.put(podsRef, user("p", "new"));
  });
  assert.equal(rig.verdictOn("p"), full);
  rig.api.drop(storage("volumeattachments"), "", "va");
  await rig.clock.advance(2_000);
  const wanted = rig.api.peek<PersistentVolumeClaim>(claimsRef, "a", "new");
  assert.equal(wanted?.metadata?.annotations?.["volume.kubernetes.io/selected-node"], "n1");
  await rig.end();
});

test("a Pod of higher priority takes the volume's place", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    csiVolumes(api, ["a", "b"], 1);
    api.put(podsRef, user("low", "a"));
  });
  assert.equal(rig.nodeOf("low"), "n1");
  const high = user("high", "b");
  rig.api.put(podsRef, { ...high, spec: { containers: [], ...high.spec, priority: 10 } });
  await rig.clock.advance(2_000);
  assert.equal(rig.api.peek<Pod>(podsRef, "a", "high")?.status?.nominatedNodeName, "n1");
  await rig.end();
});

/** A bound volume of an in-tree plugin, of the given zone. */
function diskVolume(api: FakeApi, name: string, zone: string): void {
  const expression = { key: "topology.kubernetes.io/zone", operator: "In", values: [zone] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
  const awsElasticBlockStore = { volumeID: `vol-${name}` };
  const fields = { awsElasticBlockStore, nodeAffinity: { required } };
  api.put(volumesRef, volume(`v-${name}`, undefined, fields));
  api.put(claimsRef, claim(name, { volumeName: `v-${name}` }, done));
}

test("in-tree volumes count as volumes of the driver that does their work", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { zone: "a" }));
    const drivers = [{ name: "ebs.csi.aws.com", nodeID: "n1", allocatable: { count: 1 } }];
    api.put(storage("csinodes"), { metadata: { name: "n1" }, spec: { drivers } } as object);
    for (const name of ["a", "b"]) diskVolume(api, name, "a");
    for (const name of ["a", "b"]) api.put(podsRef, user(`p-${name}`, name));
  });
  assert.equal(rig.nodeOf("p-a"), "n1");
  assert.equal(rig.verdictOn("p-b"), full);
  await rig.end();
});

test("an in-tree volume written into a Pod counts where a driver does its plugin's work", async () => {
  const inline = (name: string, volumeID: string): Pod =>
    makePod(name, { spec: { volumes: [{ name: "v", awsElasticBlockStore: { volumeID } }] } });
  for (const isMigrated of [true, false]) {
    const plugins = { "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs" };
    const rig = await startRig((api) => {
      api.put(nodesRef, makeNode("n1", { zone: "a" }));
      const drivers = [{ name: "ebs.csi.aws.com", nodeID: "n1", allocatable: { count: 1 } }];
      const annotations = isMigrated ? plugins : {};
      api.put(storage("csinodes"), {
        metadata: { name: "n1", annotations },
        spec: { drivers },
      } as object);
      api.put(podsRef, inline("first", "vol-1"));
      api.put(podsRef, inline("same", "aws://a/vol-1"));
    });
    assert.equal(rig.nodeOf("first"), "n1");
    assert.equal(rig.nodeOf("same"), "n1", "one disk counts once");
    rig.api.put(podsRef, inline("other", "vol-2"));
    await rig.clock.advance(10);
    assert.equal(rig.nodeOf("other"), isMigrated ? "" : "n1");
    if (isMigrated) assert.equal(rig.verdictOn("other"), full);
    await rig.end();
  }
});

test("on a node whose driver does the work, an in-tree volume is in the zone that the driver says", async () => {
  const rig = await startRig((api) => {
    const plain = makeNode("n1", { zone: "a" });
    const labels = { ...plain.metadata?.labels, "topology.ebs.csi.aws.com/zone": "b" };
    api.put(nodesRef, { ...plain, metadata: { ...plain.metadata, labels } });
    const key = "storage.alpha.kubernetes.io/migrated-plugins";
    const annotations = { [key]: "kubernetes.io/gce-pd,kubernetes.io/aws-ebs" };
    const spec = { drivers: [{ name: "ebs.csi.aws.com", nodeID: "n1" }] };
    api.put(storage("csinodes"), { metadata: { name: "n1", annotations }, spec } as object);
    diskVolume(api, "a", "a");
    diskVolume(api, "b", "b");
    for (const name of ["a", "b"]) api.put(podsRef, user(`p-${name}`, name));
  });
  assert.equal(rig.nodeOf("p-b"), "n1");
  assert.equal(rig.nodeOf("p-a"), "");
  await rig.end();
});
