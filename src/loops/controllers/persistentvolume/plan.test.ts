/** The steps of claims and volumes, as upstream's binder takes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "#api/gen/types.ts";
import { VolumeIndex } from "#api/volumes/volume-index.ts";
import { planClaim, type ClaimStep } from "./claim-plan.ts";
import { defaultClassName } from "./default-class.ts";
import { migrateClaim, migrateVolume } from "./migrated.ts";
import { boundClaimStatus, unboundClaimStatus, volumeWithPhase } from "./status.ts";
import { makeClaim, makeClass, makeVolume } from "./testing/objects.ts";
import { planReclaim, planVolume, unboundVolume } from "./volume-plan.ts";

const done = { "pv.kubernetes.io/bind-completed": "yes" };
const byController = { "pv.kubernetes.io/bound-by-controller": "yes" };
const classes: readonly StorageClass[] = [
  makeClass("csi", "csi.example.com"),
  makeClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
  makeClass("manual", "kubernetes.io/no-provisioner"),
  makeClass("host", "kubernetes.io/host-path"),
  makeClass("ebs", "kubernetes.io/aws-ebs"),
];

function stepOf(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[] = [],
  more: { pods?: readonly string[]; defaultClass?: string } = {},
): string {
  const index = new VolumeIndex();
  for (const volume of volumes) index.set(volume);
  const step = planClaim({
    claim,
    volume: (name) => index.get(name),
    bestVolume: (isDelayed) => index.best(claim, isDelayed),
    storageClass: (name) => classes.find((one) => one.metadata?.name === name),
    defaultClass: () => more.defaultClass,
    waitingPods: () => more.pods ?? [],
  });
  return print(step);
}

function print(step: ClaimStep): string {
  const event =
    "event" in step && step.event !== undefined
      ? `; ${step.event.reason}: ${step.event.message}`
      : "";
  switch (step.kind) {
    case "bind":
      return `bind ${step.volume.metadata?.name}`;
    case "assign-class":
      return `assign-class ${step.className}`;
    case "provision":
      return `provision ${step.provisioner}`;
    default:
      return `${step.kind}${event}`;
  }
}

const none = "no persistent volumes available for this claim and no storage class is set";
const claimSteps: readonly (readonly [string, string, string])[] = [
  ["a claim without a volume waits", stepOf(makeClaim("c")), `pending; FailedBinding: ${none}`],
  ["a claim takes a fitting volume", stepOf(makeClaim("c"), [makeVolume("v")]), "bind v"],
  [
    "a volume that is not Available yet is not taken",
    stepOf(makeClaim("c"), [makeVolume("v", { phase: "Pending" })]),
    `pending; FailedBinding: ${none}`,
  ],
  [
    "a volume reserved for the claim is taken, whatever its phase",
    stepOf(makeClaim("c"), [
      makeVolume("a"),
      makeVolume("v", { phase: "Pending", claimRef: "default/c" }),
    ]),
    "bind v",
  ],
  [
    "a volume reserved in another namespace is not taken",
    stepOf(makeClaim("c"), [makeVolume("v", { claimRef: "other/c" })]),
    `pending; FailedBinding: ${none}`,
  ],
  [
    "a volume of an earlier claim of the name is not taken",
    stepOf(makeClaim("c"), [makeVolume("v", { claimRef: "default/c/uid-earlier" })]),
    `pending; FailedBinding: ${none}`,
  ],
  [
    "a claim without a choice of class gets the default one when no volume fits",
    stepOf({ ...makeClaim("c"), spec: {} }, [], { defaultClass: "csi" }),
    "assign-class csi",
  ],
  [
    "a claim that chose no class keeps it",
    stepOf(makeClaim("c"), [], { defaultClass: "csi" }),
    `pending; FailedBinding: ${none}`,
  ],
  [
    "a claim that waits for its consumer takes no volume by itself",
    stepOf(makeClaim("c", { className: "local" }), [makeVolume("v", { className: "local" })]),
    "pending; WaitForFirstConsumer: waiting for first consumer to be created before binding",
  ],
  [
    "the pods that it waits for are named",
    stepOf(makeClaim("c", { className: "local" }), [], { pods: ["p", "q"] }),
    "pending; WaitForPodScheduled: waiting for pods p,q to be scheduled",
  ],
  [
    "one pod",
    stepOf(makeClaim("c", { className: "local" }), [], { pods: ["p"] }),
    "pending; WaitForPodScheduled: waiting for pod p to be scheduled",
  ],
  [
    "an external provisioner",
    stepOf(makeClaim("c", { className: "csi" })),
    "provision csi.example.com",
  ],
  [
    "a migrated provisioner",
    stepOf(makeClaim("c", { className: "ebs" })),
    "provision ebs.csi.aws.com",
  ],
  [
    "no provisioner",
    stepOf(makeClaim("c", { className: "manual" })),
    "refused; ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner",
  ],
  [
    "a provisioner that is off",
    stepOf(makeClaim("c", { className: "host" })),
    'refused; ProvisioningFailed: Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled',
  ],
  [
    "no such class",
    stepOf(makeClaim("c", { className: "none" })),
    'refused; ProvisioningFailed: storageclass.storage.k8s.io "none" not found',
  ],
  ["a named volume that is not there yet", stepOf(makeClaim("c", { volumeName: "v" })), "pending"],
  ["a named free volume", stepOf(makeClaim("c", { volumeName: "v" }), [makeVolume("v")]), "bind v"],
  [
    "a named volume that is too small",
    stepOf(makeClaim("c", { volumeName: "v", size: "2Gi" }), [makeVolume("v")]),
    'pending; VolumeMismatch: Cannot bind to requested volume "v": requested PV is too small',
  ],
  [
    "a named volume of another class",
    stepOf(makeClaim("c", { volumeName: "v" }), [makeVolume("v", { className: "gold" })]),
    'pending; VolumeMismatch: Cannot bind to requested volume "v": storageClassName does not match',
  ],
  [
    "a named volume of other modes",
    stepOf(makeClaim("c", { volumeName: "v", modes: ["ReadWriteMany"] }), [makeVolume("v")]),
    'pending; VolumeMismatch: Cannot bind to requested volume "v": incompatible accessMode',
  ],
  [
    "a named volume of another",
    stepOf(makeClaim("c", { volumeName: "v" }), [makeVolume("v", { claimRef: "default/d" })]),
    'pending; FailedBinding: volume "v" already bound to a different claim.',
  ],
  [
    "a volume chosen here that another got",
    stepOf(makeClaim("c", { volumeName: "v", annotations: byController }), [
      makeVolume("v", { claimRef: "default/d" }),
    ]),
    'contested; FailedBinding: volume "v" already bound to a different claim.',
  ],
  [
    "a bound claim is completed",
    stepOf(makeClaim("c", { volumeName: "v", annotations: done }), [
      makeVolume("v", { claimRef: "default/c/uid-c" }),
    ]),
    "bind v",
  ],
  [
    "a bound claim whose volume forgot it",
    stepOf(makeClaim("c", { volumeName: "v", annotations: done }), [makeVolume("v")]),
    "bind v",
  ],
  [
    "a bound claim whose volume is gone",
    stepOf(makeClaim("c", { volumeName: "v", annotations: done })),
    "lost; ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!",
  ],
  [
    "a bound claim that names no volume",
    stepOf(makeClaim("c", { annotations: done })),
    "lost; ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
  ],
  [
    "a bound claim whose volume is another's",
    stepOf(makeClaim("c", { volumeName: "v", annotations: done }), [
      makeVolume("v", { claimRef: "default/c/uid-earlier" }),
    ]),
    "lost; ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly",
  ],
];
for (const [what, step, expected] of claimSteps) {
  test(`claims: ${what}`, () => assert.equal(step, expected));
}

const bound = makeClaim("c", { volumeName: "v" });
const mine = makeVolume("v", { claimRef: "default/c/uid-c" });
const provisioned = { "pv.kubernetes.io/provisioned-by": "csi.example.com" };
const volumeSteps: readonly (readonly [
  string,
  PersistentVolume,
  PersistentVolumeClaim | undefined,
  string,
])[] = [
  ["free", makeVolume("v"), undefined, "Available"],
  ["reserved by name", makeVolume("v", { claimRef: "default/c" }), undefined, "Available"],
  ["bound", mine, bound, "Bound"],
  ["its claim is gone", mine, undefined, "reclaim"],
  ["its claim has not taken it yet", mine, makeClaim("c"), "wake-claim"],
  [
    "its claim has another mode",
    mine,
    makeClaim("c", { spec: { volumeMode: "Block" } }),
    "refused",
  ],
  ["its claim took another", mine, makeClaim("c", { volumeName: "w" }), "unbind"],
  [
    "made for a claim that took another",
    makeVolume("v", { claimRef: "default/c/uid-c", policy: "Delete", annotations: provisioned }),
    makeClaim("c", { volumeName: "w" }),
    "reclaim",
  ],
];
for (const [what, volume, claim, expected] of volumeSteps) {
  test(`volumes: ${what}`, () => {
    const step = planVolume(volume, claim);
    assert.equal(step.kind === "phase" ? step.phase : step.kind, expected);
  });
}

const reclaims: readonly (readonly [string, PersistentVolume, string])[] = [
  ["Retain", makeVolume("v"), "keep"],
  ["Delete below /tmp", makeVolume("v", { policy: "Delete" }), "delete"],
  [
    "Delete elsewhere",
    makeVolume("v", { policy: "Delete", spec: { hostPath: { path: "/etc" } } }),
    "host_path deleter only supports /tmp/.+ but received provided /etc",
  ],
  [
    "an external deleter's",
    makeVolume("v", { policy: "Delete", annotations: provisioned }),
    "keep",
  ],
  [
    "a migrated one",
    makeVolume("v", { policy: "Delete", annotations: { "pv.kubernetes.io/migrated-to": "d" } }),
    "keep",
  ],
  [
    "a deleter that is not there",
    makeVolume("v", {
      policy: "Delete",
      annotations: { "pv.kubernetes.io/provisioned-by": "kubernetes.io/old" },
    }),
    "no volume plugin matched name: kubernetes.io/old",
  ],
  ["Recycle", makeVolume("v", { policy: "Recycle" }), "No recycler plugin found for the volume!"],
  [
    "what nobody knows",
    makeVolume("v", { policy: "Burn" }),
    "Volume has unrecognized PersistentVolumeReclaimPolicy",
  ],
];
for (const [what, volume, expected] of reclaims) {
  test(`released volumes: ${what}`, () => {
    const step = planReclaim(volume);
    assert.equal(step.kind === "fail" ? step.message : step.kind, expected);
  });
}

test("a volume without its claim is free, or keeps the user's reservation by name", () => {
  const chosen = makeVolume("v", { claimRef: "default/c/uid-c", annotations: byController });
  assert.equal(unboundVolume(chosen).spec?.claimRef, undefined);
  assert.equal(unboundVolume(chosen).metadata?.annotations, undefined);
  assert.deepEqual(unboundVolume(mine).spec?.claimRef, { namespace: "default", name: "c" });
});

test("a status that says so already is not written", () => {
  const volume = makeVolume("v", { claimRef: "default/c/uid-c", phase: "Bound" });
  const once = boundClaimStatus(bound, volume);
  assert.deepEqual(once.status, {
    phase: "Bound",
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
  });
  assert.equal(boundClaimStatus(once, volume), once);
  const lost = unboundClaimStatus(once, "Lost");
  assert.deepEqual(lost.status, { phase: "Lost" });
  assert.equal(unboundClaimStatus(lost, "Lost"), lost);
  assert.equal(volumeWithPhase(volume, { phase: "Bound", since: "t" }), volume);
});

test("a volume that grew does not grow its bound claim: the resizer does", () => {
  const once = boundClaimStatus(bound, makeVolume("v"));
  const grown = makeVolume("v", { size: "2Gi" });
  assert.equal(boundClaimStatus(once, grown).status?.capacity?.["storage"], "1Gi");
  const before = { "volume.alpha.kubernetes.io/pre-resize-capacity": "1Gi" };
  const resizing = makeVolume("v", { size: "2Gi", annotations: before });
  assert.equal(boundClaimStatus(bound, resizing).status?.capacity?.["storage"], "1Gi");
});

test("hostile annotations are texts: they bind nothing, and are dropped where they lie", () => {
  const hostile = {
    "pv.kubernetes.io/bound-by-controller": "no",
    "pv.kubernetes.io/migrated-to": "evil",
    "volume.alpha.kubernetes.io/pre-resize-capacity": "9".repeat(5_000),
    __proto__x: "{}",
  };
  const volume = makeVolume("v", { annotations: { ...hostile, ...provisioned } });
  assert.equal(
    migrateVolume(volume).metadata?.annotations?.["pv.kubernetes.io/migrated-to"],
    undefined,
  );
  const status = boundClaimStatus(bound, volume).status;
  assert.equal(status?.capacity?.["storage"], "1Gi");
  const inherited = makeClaim("c", { annotations: JSON.parse('{"__proto__": {"a": "b"}}') });
  assert.equal(migrateClaim(inherited), inherited);
});

test("volumes of in-tree provisioners carry the finalizer of their deleter", () => {
  const by = (provisioner: string, policy: string, finalizers: readonly string[]) => {
    const annotations = { "pv.kubernetes.io/provisioned-by": provisioner };
    const volume = makeVolume("v", { annotations, policy });
    const given = { ...volume, metadata: { ...volume.metadata, finalizers } };
    return migrateVolume(given).metadata?.finalizers;
  };
  const external = "external-provisioner.volume.kubernetes.io/finalizer";
  const inTree = "kubernetes.io/pv-controller";
  assert.deepEqual(by("kubernetes.io/host-path", "Delete", []), [inTree]);
  assert.deepEqual(by("kubernetes.io/host-path", "Retain", [inTree, external]), []);
  assert.deepEqual(by("kubernetes.io/aws-ebs", "Delete", [external, inTree]), [external]);
  assert.deepEqual(by("csi.example.com", "Delete", [external]), [external]);
});

test("the newest default class counts, then the name", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const one = (name: string, creationTimestamp: string): StorageClass => ({
    metadata: { name, creationTimestamp, annotations },
    provisioner: "p",
  });
  const early = "2026-01-01T00:00:00Z";
  const late = "2026-01-02T00:00:00Z";
  assert.equal(defaultClassName([one("a", early), one("c", late), one("b", late)]), "b");
  assert.equal(defaultClassName([makeClass("x", "p")]), undefined);
});
