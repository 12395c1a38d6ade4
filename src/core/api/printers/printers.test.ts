/** What kubectl shows, one row per case: objects in, visible cells out. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AnyObject } from "../object.ts";
import { bookmarkInclude, tableFor } from "./table.ts";
import { upstreamSamples } from "../testing/upstream.ts";
import { printBookmark } from "./bookmark.ts";
import { defaultPrinter, printerFor } from "./printers.ts";

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();

function meta(name: string, more: object = {}): object {
  return { name, namespace: "default", creationTimestamp: ago(300), ...more };
}

function cells(group: string, resource: string, object: object): readonly unknown[] {
  const printer = printerFor(group, resource);
  const row = printer.row(object as AnyObject, nowMs); // a test's literal
  assert.equal(row.length, printer.columns.length);
  return row;
}

/** Only the columns always shown. */
function shown(group: string, resource: string, object: object): string {
  const { columns } = printerFor(group, resource);
  return cells(group, resource, object)
    .filter((_, index) => columns[index]?.priority === 0)
    .join(" | ");
}

const running = { state: { running: {} }, ready: true, restartCount: 0, started: true };
const crashed = {
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1, finishedAt: ago(5) } },
  ready: false,
  restartCount: 3,
};
const exited = (exitCode: number, more: object = {}): object => ({
  state: { terminated: { exitCode, ...more } },
  ready: false,
  restartCount: 0,
});

interface PodParts {
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
}

function podCells(parts: PodParts, containers = 1): string {
  const pod = {
    metadata: meta("p", parts.metadata),
    spec: {
      containers: Array.from({ length: containers }, (_, i) => ({ name: `c${i}` })),
      ...parts.spec,
    },
    status: parts.status,
  };
  return shown("", "pods", pod);
}

type PodCase = readonly [string, PodParts, string];

const inits = { initContainers: [{ name: "i0" }, { name: "i1" }] };
const sidecar = { initContainers: [{ name: "s", restartPolicy: "Always" }] };
const initial = (...statuses: object[]): object => ({
  phase: "Pending",
  initContainerStatuses: statuses,
});

const podCases: readonly PodCase[] = [
  ["pending", { status: { phase: "Pending" } }, "p | 0/1 | Pending | 0 | 5m"],
  [
    "held by a scheduling gate",
    {
      status: {
        phase: "Pending",
        conditions: [{ type: "PodScheduled", reason: "SchedulingGated" }],
      },
    },
    "p | 0/1 | SchedulingGated | 0 | 5m",
  ],
  [
    "running",
    { status: { phase: "Running", containerStatuses: [running] } },
    "p | 1/1 | Running | 0 | 5m",
  ],
  [
    "crashing",
    { status: { phase: "Running", containerStatuses: [crashed] } },
    "p | 0/1 | CrashLoopBackOff | 3 (5s ago) | 5m",
  ],
  [
    "completed",
    { status: { phase: "Succeeded", containerStatuses: [exited(0, { reason: "Completed" })] } },
    "p | 0/1 | Completed | 0 | 5m",
  ],
  [
    "one container completed, one running, ready",
    {
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [exited(0, { reason: "Completed" }), running],
      },
    },
    "p | 1/1 | Running | 0 | 5m",
  ],
  [
    "one container completed, one running, not ready",
    {
      status: {
        phase: "Running",
        containerStatuses: [exited(0, { reason: "Completed" }), running],
      },
    },
    "p | 1/1 | NotReady | 0 | 5m",
  ],
  [
    "failed with a code",
    { status: { phase: "Failed", containerStatuses: [exited(3)] } },
    "p | 0/1 | ExitCode:3 | 0 | 5m",
  ],
  [
    "killed by a signal",
    { status: { phase: "Failed", containerStatuses: [exited(137, { signal: 9 })] } },
    "p | 0/1 | Signal:9 | 0 | 5m",
  ],
  ["evicted", { status: { phase: "Failed", reason: "Evicted" } }, "p | 0/1 | Evicted | 0 | 5m"],
  [
    "deleted",
    {
      metadata: { deletionTimestamp: ago(1) },
      status: { phase: "Running", containerStatuses: [running] },
    },
    "p | 1/1 | Terminating | 0 | 5m",
  ],
  [
    "deleted after it ended",
    { metadata: { deletionTimestamp: ago(1) }, status: { phase: "Succeeded" } },
    "p | 0/1 | Succeeded | 0 | 5m",
  ],
  [
    "deleted on a lost node",
    {
      metadata: { deletionTimestamp: ago(1) },
      status: { phase: "Running", reason: "NodeLost", containerStatuses: [running] },
    },
    "p | 1/1 | Unknown | 0 | 5m",
  ],
  [
    "in its second init container",
    {
      spec: inits,
      status: initial({ name: "i0", ...exited(0) }, { name: "i1", ...running, ready: false }),
    },
    "p | 0/1 | Init:1/2 | 0 | 5m",
  ],
  [
    "with a failing init container",
    { spec: inits, status: initial({ name: "i0", ...exited(2) }) },
    "p | 0/1 | Init:ExitCode:2 | 0 | 5m",
  ],
  [
    "with an init container that waits",
    { spec: inits, status: initial({ name: "i0", ...crashed }) },
    "p | 0/1 | Init:CrashLoopBackOff | 3 (5s ago) | 5m",
  ],
  [
    "initialized, so that init restarts no longer count",
    {
      spec: inits,
      status: {
        phase: "Running",
        initContainerStatuses: [{ name: "i0", ...exited(0), restartCount: 7 }],
        containerStatuses: [running],
      },
    },
    "p | 1/1 | Running | 0 | 5m",
  ],
  [
    "with a sidecar, which counts and whose restarts count",
    {
      spec: sidecar,
      status: {
        phase: "Running",
        initContainerStatuses: [{ name: "s", ...running, restartCount: 2 }],
        containerStatuses: [running],
      },
    },
    "p | 2/2 | Running | 2 | 5m",
  ],
];

for (const [name, parts, expected] of podCases) {
  test(`a pod ${name} shows as ${expected}`, () => {
    assert.equal(podCells(parts), expected);
  });
}

test("wide pod columns show address, node, nominated node and readiness gates", () => {
  const pod = {
    metadata: meta("p"),
    spec: { nodeName: "n", readinessGates: [{ conditionType: "a" }, { conditionType: "b" }] },
    status: { podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "b", status: "True" }] },
  };
  assert.deepEqual(cells("", "pods", pod).slice(5), ["10.0.0.1", "n", "<none>", "1/2"]);
  assert.deepEqual(cells("", "pods", { metadata: meta("p") }).slice(5), [
    "<none>",
    "<none>",
    "<none>",
    "<none>",
  ]);
});

type Case = readonly [string, string, object, string];

const lb = (more: object): object => ({
  metadata: meta("s"),
  spec: {
    type: "LoadBalancer",
    clusterIPs: ["10.0.0.1"],
    ports: [
      { port: 80, nodePort: 30080, protocol: "TCP" },
      { port: 53, protocol: "UDP" },
    ],
  },
  ...more,
});

const template = { spec: { containers: [{ name: "c", image: "i:1" }] } };
const cases: readonly Case[] = [
  ["", "services", lb({}), "s | LoadBalancer | 10.0.0.1 | <pending> | 80:30080/TCP,53/UDP | 5m"],
  [
    "",
    "services",
    lb({ status: { loadBalancer: { ingress: [{ hostname: "z" }, { ip: "1.2.3.4" }] } } }),
    "s | LoadBalancer | 10.0.0.1 | 1.2.3.4,z | 80:30080/TCP,53/UDP | 5m",
  ],
  [
    "",
    "services",
    { metadata: meta("s"), spec: { type: "ExternalName", externalName: "a.b" } },
    "s | ExternalName | <none> | a.b | <none> | 5m",
  ],
  [
    "",
    "nodes",
    {
      metadata: meta("n", {
        labels: { "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "worker" },
      }),
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "Unknown" }],
        nodeInfo: { kubeletVersion: "v1.36.0" },
      },
    },
    "n | NotReady,SchedulingDisabled | control-plane,worker | 5m | v1.36.0",
  ],
  ["", "nodes", { metadata: meta("n") }, "n | Unknown | <none> | 5m | "],
  [
    "apps",
    "deployments",
    {
      metadata: meta("d"),
      spec: { replicas: 3, template },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    "d | 2/3 | 3 | 1 | 5m",
  ],
  [
    "apps",
    "statefulsets",
    { metadata: meta("d"), spec: { replicas: 3, template } },
    "d | 0/3 | 5m",
  ],
  [
    "batch",
    "jobs",
    {
      metadata: meta("j"),
      spec: { completions: 1, template },
      status: {
        succeeded: 1,
        startTime: ago(100),
        completionTime: ago(60),
        conditions: [{ type: "Complete", status: "True" }],
      },
    },
    "j | Complete | 1/1 | 40s | 5m",
  ],
  [
    "batch",
    "jobs",
    { metadata: meta("j"), spec: { parallelism: 4, template }, status: { startTime: ago(100) } },
    "j | Running | 0/1 of 4 | 100s | 5m",
  ],
  [
    "batch",
    "cronjobs",
    {
      metadata: meta("c"),
      spec: { schedule: "* * * * *", suspend: false, jobTemplate: { spec: { template } } },
      status: { active: [{}] },
    },
    "c | * * * * * | <none> | False | 1 | <none> | 5m",
  ],
  [
    "",
    "endpoints",
    {
      metadata: meta("e"),
      subsets: [
        {
          addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
          ports: [{ port: 80 }, { port: 443 }],
        },
      ],
    },
    "e | 10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 1 more... | 5m",
  ],
  ["", "endpoints", { metadata: meta("e") }, "e | <none> | 5m"],
  [
    "discovery.k8s.io",
    "endpointslices",
    { metadata: meta("e"), addressType: "IPv4", ports: [{}], endpoints: [{ addresses: ["a"] }] },
    "e | IPv4 | * | a | 5m",
  ],
  [
    "networking.k8s.io",
    "ingresses",
    {
      metadata: meta("i"),
      spec: { rules: ["a", "b", "c", "d"].map((host) => ({ host })), tls: [{}] },
    },
    "i | <none> | a,b,c + 1 more... |  | 80, 443 | 5m",
  ],
  [
    "",
    "events",
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: meta("e"),
      involvedObject: { kind: "Pod", name: "p" },
      type: "Normal",
      reason: "Started",
      message: "Started container\n",
      firstTimestamp: ago(90),
      lastTimestamp: ago(30),
    },
    "30s | Normal | Started | pod/p | Started container",
  ],
  [
    "events.k8s.io",
    "events",
    {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: meta("e"),
      regarding: { kind: "Pod", name: "p" },
      eventTime: ago(20),
      note: "n",
    },
    "20s |  |  | pod/p | n",
  ],
  [
    "autoscaling",
    "horizontalpodautoscalers",
    {
      kind: "HorizontalPodAutoscaler",
      apiVersion: "autoscaling/v1",
      metadata: meta("h"),
      spec: {
        maxReplicas: 5,
        scaleTargetRef: { kind: "Deployment", name: "d" },
        targetCPUUtilizationPercentage: 80,
      },
      status: { currentReplicas: 2, currentCPUUtilizationPercentage: 30 },
    },
    "h | Deployment/d | cpu: 30%/80% | <unset> | 5 | 2 | 5m",
  ],
  [
    "",
    "resourcequotas",
    {
      metadata: meta("q"),
      status: {
        hard: { pods: "10", "limits.cpu": "2000m", "requests.cpu": "1" },
        used: { pods: "3" },
      },
    },
    "q | pods: 3/10, requests.cpu: 0/1 | limits.cpu: 0/2 | 5m",
  ],
  [
    "",
    "persistentvolumeclaims",
    {
      metadata: meta("c"),
      spec: { volumeName: "v", storageClassName: "fast", volumeMode: "Filesystem" },
      status: {
        phase: "Bound",
        capacity: { storage: "1024Mi" },
        accessModes: ["ReadWriteMany", "ReadWriteOnce"],
      },
    },
    "c | Bound | v | 1Gi | RWO,RWX | fast | <unset> | 5m",
  ],
  [
    "certificates.k8s.io",
    "certificatesigningrequests",
    {
      metadata: meta("c"),
      spec: { signerName: "s", username: "u", expirationSeconds: 3600 },
      status: { conditions: [{ type: "Approved" }], certificate: "x" },
    },
    "c | 5m | s | u | 60m | Approved,Issued",
  ],
  [
    "apiregistration.k8s.io",
    "apiservices",
    {
      metadata: meta("v1.a"),
      spec: { service: { namespace: "n", name: "s" } },
      status: { conditions: [{ type: "Available", status: "False", reason: "Missing" }] },
    },
    "v1.a | n/s | False (Missing) | 5m",
  ],
  [
    "flowcontrol.apiserver.k8s.io",
    "prioritylevelconfigurations",
    { metadata: meta("p"), spec: { type: "Exempt" } },
    "p | Exempt | <none> | <none> | <none> | <none> | 5m",
  ],
  ["resource.k8s.io", "resourceclaims", { metadata: meta("r") }, "r | pending | 5m"],
  ["example.com", "widgets", { metadata: meta("w") }, `w | ${ago(300)}`],
];

for (const [group, resource, object, expected] of cases) {
  test(`${resource} show as ${expected}`, () => {
    assert.equal(shown(group, resource, object), expected);
  });
}

test("a table carries the object as asked, and columns unless told not to", () => {
  const object = { kind: "Pod", apiVersion: "v1", metadata: { name: "p" }, status: {} };
  const options = { nowMs, resourceVersion: "7" };
  const table = tableFor(defaultPrinter, [object], { ...options, includeObject: "Metadata" });
  assert.deepEqual(table.metadata, { resourceVersion: "7" });
  assert.deepEqual(table.rows[0]?.object, {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: { name: "p" },
  });
  const bare = tableFor(defaultPrinter, [object], {
    ...options,
    includeObject: "None",
    withColumns: false,
  });
  assert.equal(bare.columnDefinitions, null);
  assert.equal(bare.rows[0]?.object, null);
});

test("a finished pod's row says so in its conditions", () => {
  const object = { metadata: { name: "p" }, status: { phase: "Failed" } };
  const table = tableFor(printerFor("", "pods"), [object], { nowMs, includeObject: "None" });
  assert.equal(table.rows[0]?.conditions?.[0]?.reason, "Failed");
});

test("every built-in kind with every field set fills its columns", () => {
  const samples = upstreamSamples().filter(({ name }) => /\.v1\.[A-Za-z]+$/.test(name));
  for (const { name, object } of samples) {
    const group = name.split(".v1.")[0] ?? "";
    const resource = `${(object.kind ?? "").toLowerCase()}s`
      .replace(/(?<!d)ys$/, "ies")
      .replace(/sss$/, "sses")
      .replace(/tss$/, "ts");
    const printer = printerFor(group === "core" ? "" : group, resource);
    const row = printer.row(object, nowMs);
    // An address has a cell without a column, as upstream.
    const more = object.kind === "IPAddress" ? 1 : 0;
    assert.equal(row.length, printer.columns.length + more, name);
    assert.ok(
      row.every((cell) => cell !== undefined && cell !== "undefined/undefined"),
      name,
    );
  }
});

/** As a stock 1.36 server sent them, at the end of initial events. */
const stockBookmarks = JSON.parse(
  readFileSync(join(import.meta.dirname, "testdata/bookmarks.json"), "utf8"),
) as Readonly<Record<string, readonly unknown[]>>;

for (const [name, expected] of Object.entries(stockBookmarks)) {
  test(`the bookmark of ${name} is printed as a stock server prints it`, () => {
    const [resource = "", ...group] = name.split(".");
    const metadata = { resourceVersion: "7" };
    const bookmark = { apiVersion: "v1", kind: "Any", metadata } as AnyObject;
    const printed = printBookmark(group.join("."), resource, bookmark);
    const row = printerFor(group.join("."), resource).row(printed, nowMs);
    assert.deepEqual(row, expected);
  });
}

test("the bookmark that ends initial events shows its metadata where no object was asked for", () => {
  const plain = { metadata: { resourceVersion: "7" } } as AnyObject;
  const annotations = { "k8s.io/initial-events-end": "true" };
  const marked = { metadata: { resourceVersion: "7", annotations } } as AnyObject;
  assert.equal(bookmarkInclude("None", plain), "None");
  assert.equal(bookmarkInclude("None", marked), "Metadata");
  assert.equal(bookmarkInclude("Object", marked), "Object");
});
