/** All loops over a whole plane, each with the rights of its own account: all converge, none is refused. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type {
  Deployment,
  DeviceTaint,
  Pod,
  PodTemplateSpec,
  ResourceSlice,
  StatefulSet,
} from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ensurePki } from "#auth/pki-files.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import * as limits from "#cmd/shared/limits.ts";
import { startPlane } from "#cmd/plane/plane.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { keptAudit, type KeptEvent } from "#server/audit/testing/kept-audit.ts";
import { metadataPolicy } from "#server/audit/policy.ts";
import { refs } from "./framework/refs.ts";

const template: PodTemplateSpec = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
const selector = { matchLabels: { app: "web" } };
const job = {
  parallelism: 2,
  completions: 3,
  template: {
    metadata: { annotations: { "pilothouse.dev/run-seconds": "0" } },
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i", command: ["true"] }] },
  },
};
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const ports = [{ port: 80 }];
const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const agg = { "agg/it": "true" };

const scratch = {
  name: "v",
  ephemeral: { volumeClaimTemplate: { spec: { ...storage, storageClassName: "late" } } },
};
const gpu = { devices: { requests: [{ name: "g", exactly: { deviceClassName: "gpu" } }] } };
const gpuOfTemplate = { name: "gpu", resourceClaimTemplateName: "gpu" };

/** One of everything the loops work on: resource, name, the rest. */
const objects: readonly (readonly [keyof typeof refs, string, object])[] = [
  ["services", "web", { spec: { selector: selector.matchLabels, ports } }],
  ["services", "bare", { spec: { ports } }],
  ["endpoints", "bare", { subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports }] }],
  ["resourcequotas", "q", { spec: { hard: { pods: "100", "count/jobs.batch": "10" } } }],
  ["deployments", "web", { spec: { replicas: 3, selector, template } }],
  ["poddisruptionbudgets", "web", { spec: { maxUnavailable: "50%", selector } }],
  [
    "horizontalpodautoscalers",
    "web",
    { spec: { minReplicas: 4, maxReplicas: 5, scaleTargetRef: target } },
  ],
  ["statefulsets", "db", { spec: { replicas: 2, serviceName: "db", ...labelled("db") } }],
  ["daemonsets", "agent", { spec: labelled("agent") }],
  ["jobs", "once", { spec: job }],
  ["jobs", "brief", { spec: { ...job, ttlSecondsAfterFinished: 0 } }],
  ["cronjobs", "each", { spec: { schedule: "* * * * *", jobTemplate: { spec: job } } }],
  [
    "replicationcontrollers",
    "rc",
    { spec: { replicas: 1, selector: { app: "rc" }, template: labelled("rc").template } },
  ],
  ["persistentvolumeclaims", "data", { spec: storage }],
  ["persistentvolumeclaims", "disk", { spec: { ...storage, storageClassName: "manual" } }],
  ["pods", "writer", { spec: withClaim("disk") }],
  ["persistentvolumeclaims", "late", { spec: { ...storage, storageClassName: "late" } }],
  ["pods", "first-consumer", { spec: withClaim("late") }],
  ["resourceclaimtemplates", "gpu", { spec: { spec: gpu } }],
  ["pods", "claimant", { spec: { ...template.spec, resourceClaims: [gpuOfTemplate] } }],
  ["pods", "scratch", { spec: { ...template.spec, volumes: [scratch] } }],
];

const deviceClasses = { group: "resource.k8s.io", version: "v1", resource: "deviceclasses" };
const broken: DeviceTaint = { key: "broken", effect: "NoExecute" };

/** One device for all nodes, with these taints. */
function slice(taints: readonly DeviceTaint[]): ResourceSlice {
  const pool = { name: "shared", generation: 1, resourceSliceCount: 1 };
  const devices = [{ name: "gpu-0", taints }];
  return {
    metadata: { name: "shared" },
    spec: { driver: "gpu.example.com", pool, allNodes: true, devices },
  };
}

/** Volumes made by hand, and a class whose claims wait for their pod. */
async function createVolumes(client: Client): Promise<void> {
  for (const [name, storageClassName] of [
    ["disk", "manual"],
    ["late", "late"],
    ["scratch", "late"],
  ]) {
    const spec = {
      storageClassName,
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: `/tmp/${name}` },
    };
    await client.create(refs.persistentvolumes, "", { metadata: { name }, spec } as KubeObject);
  }
  await client.create(refs.storageclasses, "", {
    metadata: { name: "late" },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  } as KubeObject);
}

function withClaim(claimName: string) {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName } }];
  return { ...template.spec, volumes };
}

function hasClaim(one: KubeObject | undefined): boolean {
  return ((one as Pod | undefined)?.status?.resourceClaimStatuses ?? []).length === 1;
}

function labelled(app: string) {
  const labels = { app };
  return { selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } };
}

test("over a whole plane all converge, and no loop is refused a right or sends what is not valid", async () => {
  const lines: KeptEvent[] = [];
  const { client, stop } = await start((line) => lines.push(line));
  // A step that fails must not leave a plane that keeps the process.
  try {
    await converge(client);
  } finally {
    await stop();
  }
  assert.ok(lines.some(({ user }) => user.username?.endsWith(":deployment-controller") === true));
  assert.deepEqual(lines.filter(isRefusal).map(print), []);
});

// long: one story over one plane, a start of which costs more than all its steps
async function converge(client: Client): Promise<void> {
  await created(client, "default");
  const role = { metadata: { name: "part", labels: agg }, rules: [rule] };
  await client.create(refs.clusterroles, "", role as KubeObject);
  const whole = {
    metadata: { name: "whole" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: agg }] },
  };
  await client.create(refs.clusterroles, "", whole as KubeObject);
  await createVolumes(client);
  await client.create(deviceClasses, "", { metadata: { name: "gpu" }, spec: {} } as KubeObject);
  await client.create(refs.resourceslices, "", slice([]));
  for (const [kind, name, fields] of objects)
    await client.create(refs[kind], "default", { metadata: { name }, ...fields } as KubeObject);

  await settled(client, "deployments", "web", "availableReplicas=4 updatedReplicas=4 replicas=4");
  await settled(client, "statefulsets", "db", "availableReplicas=2 currentReplicas=2");
  await settled(client, "daemonsets", "agent", "numberAvailable=2");
  await settled(client, "replicationcontrollers", "rc", "availableReplicas=1");
  await settled(client, "jobs", "once", "succeeded=3");
  await settled(client, "poddisruptionbudgets", "web", "expectedPods=4 disruptionsAllowed=2");
  await settled(client, "horizontalpodautoscalers", "web", "desiredReplicas=4");
  await until(client, refs.jobs, "brief", (one) => one === undefined);
  await until(client, refs.pods, "claimant", hasClaim);
  await until(
    client,
    refs.pods,
    "claimant",
    (one) => (one as Pod | undefined)?.spec?.nodeName !== undefined,
  );
  await client.patch(refs.resourceslices, "", "shared", "merge", slice([broken]));
  await until(client, refs.pods, "claimant", (one) => one === undefined);
  for (const name of ["disk", "late"]) {
    await settled(client, "persistentvolumeclaims", name, "phase=Bound");
    await until(client, refs.persistentvolumes, name, (one) => phaseOf(one) === "Bound");
  }
  for (const name of ["writer", "first-consumer", "scratch"]) {
    await settled(client, "pods", name, "phase=Running");
    await client.delete(refs.pods, "default", name);
  }
  // The garbage collector deletes it with its pod.
  await until(client, refs.persistentvolumeclaims, "scratch-v", (one) => one === undefined);
  for (const name of ["disk", "late"]) {
    await client.delete(refs.persistentvolumeclaims, "default", name);
    await until(client, refs.persistentvolumes, name, (one) => phaseOf(one) === "Released");
  }
  const gold = {
    metadata: { name: "gold" },
    driverName: "csi.example.com",
    parameters: { iops: "1" },
  };
  await client.create(refs.volumeattributesclasses, "", gold as KubeObject);
  await client.delete(refs.volumeattributesclasses, "", "gold");
  await until(client, refs.volumeattributesclasses, "gold", (one) => one === undefined);
  // The cron job adds a job each minute of the wall clock, so no exact number can be waited for.
  await until(client, refs.resourcequotas, "q", usesSome("count/jobs.batch"));
  await until(client, refs.clusterroles, "whole", (one) =>
    JSON.stringify(one).includes("configmaps"),
  );
  await until(client, refs.endpoints, "web", (one) => addresses(one) === 4);

  const [web, db] = await Promise.all([
    client.get<Deployment>(refs.deployments, "default", "web"),
    client.get<StatefulSet>(refs.statefulsets, "default", "db"),
  ]);
  for (const [ref, one] of [
    [refs.deployments, web],
    [refs.statefulsets, db],
  ] as const) {
    const image = [
      { op: "replace", path: "/spec/template/spec/containers/0/image", value: "nginx:2" },
    ];
    await client.patch(ref, "default", one.metadata?.name ?? "", "json", image);
  }
  await settled(
    client,
    "deployments",
    "web",
    "observedGeneration=3 updatedReplicas=4 replicas=4 availableReplicas=4",
  );
  await settled(
    client,
    "statefulsets",
    "db",
    "observedGeneration=2 updatedReplicas=2 currentReplicas=2",
  );

  const foreground = { propagationPolicy: "Foreground" } as const;
  await client.delete(refs.horizontalpodautoscalers, "default", "web");
  await client.delete(refs.deployments, "default", "web", foreground);
  await client.delete(refs.daemonsets, "default", "agent", { propagationPolicy: "Orphan" });
  await client.delete(refs.persistentvolumeclaims, "default", "data");
  await until(client, refs.deployments, "web", (one) => one === undefined);
  await until(client, refs.persistentvolumeclaims, "data", (one) => one === undefined);
  await until(client, refs.daemonsets, "agent", (one) => one === undefined);
  const { items } = await client.list<Pod>(refs.pods, { namespace: "default" });
  const owners = (app: string) =>
    items
      .filter((pod) => pod.metadata?.labels?.["app"] === app)
      .map((pod) => pod.metadata?.ownerReferences?.length ?? 0);
  assert.deepEqual([owners("web"), owners("agent")], [[], [0, 0]]);

  await client.create(refs.namespaces, "", { metadata: { name: "brief" } });
  await created(client, "brief");
  await client.create(refs.replicasets, "brief", {
    metadata: { name: "rs" },
    spec: { replicas: 2, ...labelled("rs") },
  } as KubeObject);
  await client.delete(refs.namespaces, "", "brief");
  await until(client, refs.namespaces, "brief", (one) => one === undefined);
}

async function start(record: (event: KeptEvent) => void) {
  const { audit } = keptAudit(metadataPolicy, record);
  const host = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  };
  const keys = mkdtempSync(join(tmpdir(), "pilothouse-controllers-"));
  const { serviceAddress } = limits;
  const pki = ensurePki(keys, { ...host, extraHosts: [], serviceAddress });
  const plane = await startPlane(host, { pki, host: "127.0.0.1", port: 0, nodes: 2, audit });
  const stop = async (): Promise<void> => {
    await plane.stop();
    rmSync(keys, { recursive: true });
  };
  await plane.registered.catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { client: plane.client, stop };
}

/** Of a loop; races apart, and a namespace that ends and takes nothing new. */
function isRefusal({ user, responseStatus, objectRef }: KeptEvent): boolean {
  const name = user.username ?? "";
  const code = responseStatus?.code ?? 0;
  const isLoop =
    name === "system:kube-controller-manager" || name.startsWith("system:serviceaccount:");
  return (
    isLoop && code >= 400 && ![404, 409].includes(code) && objectRef?.["namespace"] !== "brief"
  );
}

function print({ user, responseStatus, verb, requestURI }: KeptEvent): string {
  return `${responseStatus?.code} ${user.username} ${verb} ${requestURI}`;
}

const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] };

/** Its account and authority are there: it takes pods. */
async function created(client: Client, namespace: string): Promise<void> {
  await until(client, refs.serviceaccounts, "default", (one) => one !== undefined, namespace);
  await until(client, refs.configmaps, "kube-root-ca.crt", (one) => one !== undefined, namespace);
}

function usesSome(what: string): (object: KubeObject | undefined) => boolean {
  return (object) => {
    const { status } = (object ?? {}) as { status?: { used?: Record<string, string> } };
    return Number(status?.used?.[what] ?? 0) > 0;
  };
}

function phaseOf(object: KubeObject | undefined): string | undefined {
  return (object as { status?: { phase?: string } } | undefined)?.status?.phase;
}

function addresses(object: KubeObject | undefined): number {
  const { subsets } = (object ?? {}) as { subsets?: { addresses?: unknown[] }[] };
  return subsets?.[0]?.addresses?.length ?? 0;
}

/** Waits until its status has all of `fields`, as `replicas=3 readyReplicas=3`. */
function settled(client: Client, kind: keyof typeof refs, name: string, fields: string) {
  return until(client, refs[kind], name, (object) => {
    const { status } = (object ?? {}) as { status?: Record<string, unknown> };
    return fields.split(" ").every((field) => {
      const [key = "", value] = field.split("=");
      return String(status?.[key]) === value;
    });
  });
}

function isClusterScoped({ resource }: ResourceRef): boolean {
  const names = ["namespaces", "clusterroles", "persistentvolumes", "volumeattributesclasses"];
  return names.includes(resource);
}

/** Watches until the object, undefined when it is not there, is as wished. */
async function until(
  client: Client,
  ref: ResourceRef,
  name: string,
  isDone: (object: KubeObject | undefined) => boolean,
  namespace = isClusterScoped(ref) ? "" : "default",
): Promise<void> {
  const done = new AbortController();
  const fieldSelector = `metadata.name=${name}`;
  const { items, metadata } = await client.list(ref, { namespace, fieldSelector });
  if (isDone(items[0])) return;
  const { resourceVersion = "" } = metadata;
  const call = { namespace, fieldSelector, resourceVersion, signal: done.signal };
  await client.watch(ref, call, (events) => {
    for (const { type, object } of events)
      if (isDone(type === "DELETED" ? undefined : object)) done.abort();
  });
}
