/** The smaller plugins, one behaviour a test, refusals by their whole text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Pod } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { resourceClaims } from "./resource-claims.ts";
import { certificateConditions } from "./certificate-conditions.ts";
import {
  certificateApproval,
  certificateProof,
  certificateRequester,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
  podCertificateSigning,
} from "./certificates.ts";
import { createAdmission } from "./chain.ts";
import { defaultIngressClass } from "./ingress-class.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { priority } from "./priority.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import {
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
} from "./storage.ts";
import { defaultTolerationSeconds, taintNodesByCondition } from "./taints.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

const namespace = (name: string, phase = "Active"): AnyObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
  status: { phase },
});

async function mutated(plugin: AdmissionPlugin, object: AnyObject, over = {}): Promise<Pod> {
  return (await createAdmission([plugin]).mutate(fakeRequest(object, over))) as Pod;
}

test("nothing is made in a namespace that is missing or terminating", async () => {
  const lookup = new FakeLookup(namespace("ns"), namespace("gone", "Terminating"));
  const admission = createAdmission([namespaceLifecycle({ lookup })]);
  const make = (name: string) => () => admission.mutate(fakeRequest(pod({}, { namespace: name })));
  assert.equal(await outcome(make("ns")), "admitted");
  assert.equal(await outcome(make("none")), '404 namespaces "none" not found');
  assert.equal(
    await outcome(make("gone")),
    '403 pods "p" is forbidden: unable to create new content in namespace gone because it is being terminated',
  );
  await assert.rejects(make("gone"), (error: ApiError) => {
    assert.deepEqual(error.status.details?.causes, [
      {
        reason: "NamespaceTerminating",
        message: "namespace gone is being terminated",
        field: "metadata.namespace",
      },
    ]);
    return true;
  });
  const update = fakeRequest(pod({}, { namespace: "gone" }), { operation: "UPDATE" });
  assert.equal(await outcome(() => admission.mutate(update)), "admitted");
});

test("the namespaces a cluster stands on are not deleted", async () => {
  const admission = createAdmission([namespaceLifecycle({ lookup: new FakeLookup() })]);
  const remove = (name: string) => () =>
    admission.validate(fakeRequest(undefined, { operation: "DELETE", oldObject: namespace(name) }));
  assert.equal(
    await outcome(remove("kube-system")),
    '403 namespaces "kube-system" is forbidden: this namespace may not be deleted',
  );
  assert.equal(await outcome(remove("mine")), "admitted");
});

const account = (name: string, fields: object = {}): AnyObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "ns" },
  ...fields,
});

function accounts(...objects: AnyObject[]) {
  const lookup = new FakeLookup(...objects);
  const clock = new FakeClock();
  return { lookup, clock, plugin: serviceAccount({ lookup, clock, random: new FakeRandom(1) }) };
}

test("a pod runs as default and finds its token in every container", async () => {
  const { plugin } = accounts(account("default", { imagePullSecrets: [{ name: "pull" }] }));
  const own = { name: "own", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };
  const { spec } = await mutated(
    plugin,
    pod({
      containers: [{ name: "a" }, { name: "b", volumeMounts: [own] }],
      initContainers: [{ name: "i" }],
    }),
  );
  assert.equal(spec?.serviceAccountName, "default");
  assert.deepEqual(spec?.imagePullSecrets, [{ name: "pull" }]);
  const volume = spec?.volumes?.[0];
  assert.match(volume?.name ?? "", /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(volume?.projected?.sources?.[0]?.serviceAccountToken?.expirationSeconds, 3607);
  assert.deepEqual(spec?.containers[0]?.volumeMounts, [
    { ...own, name: volume?.name, readOnly: true },
  ]);
  assert.deepEqual(spec?.containers[1]?.volumeMounts, [own]);
  assert.equal(spec?.initContainers?.[0]?.volumeMounts?.length, 1);
});

test("mounting twice changes nothing, and automount can be turned off", async () => {
  const { plugin } = accounts(
    account("default"),
    account("quiet", { automountServiceAccountToken: false }),
  );
  const once = await mutated(plugin, pod());
  assert.deepEqual(await mutated(plugin, once as AnyObject), once);
  const quiet = await mutated(plugin, pod({ serviceAccountName: "quiet" }));
  assert.equal(quiet.spec?.volumes, undefined);
  const asked = await mutated(
    plugin,
    pod({ serviceAccountName: "quiet", automountServiceAccountToken: true }),
  );
  assert.equal(asked.spec?.volumes?.length, 1);
});

test("a pod of a missing account is refused; default is waited for", async () => {
  const { plugin, lookup, clock } = accounts();
  assert.equal(
    await outcome(() => mutated(plugin, pod({ serviceAccountName: "x" }))),
    '403 pods "p" is forbidden: error looking up service account ns/x: serviceaccount "x" not found',
  );
  const waiting = mutated(plugin, pod());
  lookup.put(account("default"));
  clock.tick(250);
  assert.equal((await waiting).spec?.serviceAccountName, "default");
});

test("an account may limit its pods to its own secrets", async () => {
  const strict = account("strict", {
    metadata: {
      name: "strict",
      namespace: "ns",
      annotations: { "kubernetes.io/enforce-mountable-secrets": "true" },
    },
    secrets: [{ name: "mine" }],
  });
  const { plugin } = accounts(strict);
  const check = (spec: object) =>
    outcome(() =>
      createAdmission([plugin]).validate(
        fakeRequest(pod({ serviceAccountName: "strict", ...spec })),
      ),
    );
  assert.equal(
    await check({ volumes: [{ name: "v", secret: { secretName: "mine" } }] }),
    "admitted",
  );
  assert.equal(
    await check({ volumes: [{ name: "v", secret: { secretName: "theirs" } }] }),
    '403 pods "p" is forbidden: volume with secret.secretName="theirs" is not allowed because service account strict does not reference that secret',
  );
  const env = [{ name: "E", valueFrom: { secretKeyRef: { name: "theirs" } } }];
  assert.match(
    await check({ containers: [{ name: "c", env }] }),
    /container c with envVar E referencing/,
  );
});

const priorityClass = (name: string, value: number, fields: object = {}): AnyObject => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name },
  value,
  preemptionPolicy: "PreemptLowerPriority",
  ...fields,
});

test("a class name becomes a number; without one the default, else zero", async () => {
  const lookup = new FakeLookup(priorityClass("high", 1000, { preemptionPolicy: "Never" }));
  const plugin = priority({ lookup });
  const named = (await mutated(plugin, pod({ priorityClassName: "high" }))).spec;
  assert.equal(named?.priority, 1000);
  assert.equal(named?.preemptionPolicy, "Never");
  const plain = (await mutated(plugin, pod())).spec;
  assert.equal(plain?.priority, 0);
  assert.equal(plain?.preemptionPolicy, "PreemptLowerPriority");
  assert.equal(plain?.priorityClassName, undefined);
  lookup.put(priorityClass("usual", 7, { globalDefault: true }));
  assert.equal((await mutated(plugin, pod())).spec?.priorityClassName, "usual");
});

test("priorities are refused with upstream's texts", async () => {
  const lookup = new FakeLookup(priorityClass("usual", 7, { globalDefault: true }));
  const plugin = priority({ lookup });
  assert.equal(
    await outcome(() => mutated(plugin, pod({ priorityClassName: "x" }))),
    '403 pods "p" is forbidden: no PriorityClass with name x was found',
  );
  assert.equal(
    await outcome(() => mutated(plugin, pod({ priority: 9 }))),
    '403 pods "p" is forbidden: the integer value of priority (9) must not be provided in pod spec; priority admission controller computed 7 from the given PriorityClass name',
  );
  const second = fakeRequest(priorityClass("other", 1, { globalDefault: true }));
  assert.equal(
    await outcome(() => createAdmission([plugin]).validate(second)),
    '403 priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
  );
});

test("an update that leaves priority out keeps it", async () => {
  const plugin = priority({ lookup: new FakeLookup() });
  const oldObject = pod({ priority: 5, preemptionPolicy: "Never" });
  const next = await mutated(plugin, pod(), { operation: "UPDATE", oldObject });
  assert.deepEqual(next, oldObject);
});

test("nodes start tainted, pods tolerate five minutes of silence", async () => {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
  const tainted = await mutated(taintNodesByCondition, node);
  assert.deepEqual(tainted.spec, {
    taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
  });
  assert.deepEqual(await mutated(taintNodesByCondition, tainted as AnyObject), tainted);
  const own = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" };
  const { spec } = await mutated(defaultTolerationSeconds(), pod({ tolerations: [own] }));
  assert.deepEqual(spec?.tolerations, [
    own,
    {
      key: "node.kubernetes.io/unreachable",
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    },
  ]);
  const all = pod({ tolerations: [{ operator: "Exists" }] });
  assert.deepEqual(await mutated(defaultTolerationSeconds(), all), all);
});

const claim = (spec: object, fields: object = {}): AnyObject => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "ns" },
  spec,
  ...fields,
});

const storageClass = (name: string, born: string, fields: object = {}): AnyObject => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: {
    name,
    creationTimestamp: born,
    annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
  },
  ...fields,
});

test("a claim gets the newest default class, a finalizer, and grows only where it can", async () => {
  const lookup = new FakeLookup(
    storageClass("old", "2026-01-01T00:00:00Z"),
    storageClass("new", "2026-01-02T00:00:00Z", { allowVolumeExpansion: true }),
  );
  const classed = await mutated(defaultStorageClass({ lookup }), claim({}));
  assert.deepEqual(classed.spec, { storageClassName: "new" });
  const none = claim({ storageClassName: "" });
  assert.deepEqual(await mutated(defaultStorageClass({ lookup }), none), none);
  const kept = await mutated(storageObjectInUseProtection, claim({}));
  assert.deepEqual(kept.metadata?.finalizers, ["kubernetes.io/pvc-protection"]);
  const sized = (storage: string, storageClassName: string, phase = "Bound") =>
    claim({ storageClassName, resources: { requests: { storage } } }, { status: { phase } });
  const resize = (name: string, phase?: string) =>
    outcome(() =>
      createAdmission([persistentVolumeClaimResize({ lookup })]).validate(
        fakeRequest(sized("2Gi", name), {
          operation: "UPDATE",
          oldObject: sized("1Gi", name, phase),
        }),
      ),
    );
  assert.equal(await resize("new"), "admitted");
  assert.match(await resize("old"), /only dynamically provisioned pvc can be resized/);
  assert.match(
    await resize("new", "Pending"),
    /Only bound persistent volume claims can be expanded/,
  );
});

test("an ingress gets the default class", async () => {
  const lookup = new FakeLookup({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: {
      name: "web",
      annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
    },
  });
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "i", namespace: "ns" },
    spec: {},
  };
  const classed = await mutated(defaultIngressClass({ lookup }), ingress);
  assert.deepEqual(classed.spec, { ingressClassName: "web" });
});

test("a runtime class gives its overhead and its nodes", async () => {
  const lookup = new FakeLookup({
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "vm" },
    handler: "vm",
    overhead: { podFixed: { memory: "100Mi" } },
    scheduling: { nodeSelector: { vm: "yes" }, tolerations: [{ key: "vm" }] },
  });
  const plugin = runtimeClass({ lookup });
  const { spec } = await mutated(plugin, pod({ runtimeClassName: "vm", nodeSelector: { a: "b" } }));
  assert.deepEqual(spec?.overhead, { memory: "100Mi" });
  assert.deepEqual(spec?.nodeSelector, { a: "b", vm: "yes" });
  assert.deepEqual(spec?.tolerations, [{ key: "vm" }]);
  assert.match(
    await outcome(() => mutated(plugin, pod({ runtimeClassName: "none" }))),
    /pod rejected: RuntimeClass "none" not found/,
  );
  assert.match(
    await outcome(() =>
      mutated(plugin, pod({ runtimeClassName: "vm", nodeSelector: { vm: "no" } })),
    ),
    /conflict: runtimeClass.scheduling.nodeSelector\[vm\] = yes; pod.spec.nodeSelector\[vm\] = no/,
  );
  assert.match(
    await outcome(() =>
      createAdmission([plugin]).validate(fakeRequest(pod({ overhead: { cpu: "1" } }))),
    ),
    /Pod Overhead set without corresponding RuntimeClass defined Overhead/,
  );
});

const limitRange = (...limits: object[]): AnyObject => ({
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: "limits", namespace: "ns" },
  spec: { limits },
});

test("a limit range fills what containers left out, and says so", async () => {
  const lookup = new FakeLookup(
    limitRange({
      type: "Container",
      default: { cpu: "1", memory: "1Gi" },
      defaultRequest: { cpu: "100m" },
    }),
  );
  const own = { name: "b", resources: { limits: { memory: "2Gi" } } };
  const after = await mutated(limitRanger({ lookup }), pod({ containers: [{ name: "a" }, own] }));
  assert.deepEqual(after.spec?.containers[0]?.resources, {
    limits: { cpu: "1", memory: "1Gi" },
    requests: { cpu: "100m" },
  });
  assert.deepEqual(after.spec?.containers[1]?.resources?.limits, { cpu: "1", memory: "2Gi" });
  assert.equal(
    after.metadata?.annotations?.["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; cpu request for container b; cpu limit for container b",
  );
});

test("bounds are held against containers, pods and claims with upstream's texts", async () => {
  const lookup = new FakeLookup(
    limitRange(
      { type: "Container", max: { cpu: "2" }, min: { cpu: "100m" } },
      { type: "Pod", maxLimitRequestRatio: { memory: "2" } },
      { type: "PersistentVolumeClaim", max: { storage: "1Gi" } },
    ),
  );
  const check = (object: AnyObject) =>
    outcome(() => createAdmission([limitRanger({ lookup })]).validate(fakeRequest(object)));
  const withCpu = (requests: object, limits: object) =>
    pod({ containers: [{ name: "c", resources: { requests, limits } }] });
  const memory = { memory: "1Gi" };
  assert.equal(await check(withCpu({ cpu: "1", ...memory }, { cpu: "1", ...memory })), "admitted");
  assert.equal(
    await check(withCpu({ cpu: "1", ...memory }, { cpu: "3", ...memory })),
    '403 pods "p" is forbidden: maximum cpu usage per Container is 2, but limit is 3',
  );
  assert.equal(
    await check(withCpu(memory, { cpu: "1", memory: "3Gi" })),
    '403 pods "p" is forbidden: [minimum cpu usage per Container is 100m.  No request is specified, memory max limit to request ratio per Pod is 2, but provided ratio is 3.000000]',
  );
  assert.equal(
    await check(claim({ resources: { requests: { storage: "2Gi" } } })),
    '403 persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi',
  );
});

test("approving and signing need the right on the signer", async () => {
  const csr = (status: object = {}): AnyObject => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "r" },
    spec: { signerName: "acme.com/web" },
    status,
  });
  const asked: string[] = [];
  const access = {
    isAllowed: ({ verb, name }: { verb: string; name: string }) => {
      asked.push(`${verb} ${name}`);
      return verb === "approve" && name === "acme.com/*";
    },
    escalation: () => undefined,
  };
  const admission = createAdmission([
    certificateApproval({ access }),
    certificateSigning({ access }),
  ]);
  const write = (subresource: string, status: object = {}) =>
    outcome(() =>
      admission.validate(
        fakeRequest(csr(status), { operation: "UPDATE", subresource, oldObject: csr() }),
      ),
    );
  assert.equal(await write("approval"), "admitted");
  assert.equal(
    await write("status", { certificate: "x" }),
    '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to sign requests with signerName "acme.com/web"',
  );
  assert.equal(await write("status"), "admitted");
  assert.deepEqual(asked, [
    "approve acme.com/web",
    "approve acme.com/*",
    "sign acme.com/web",
    "sign acme.com/*",
  ]);
});

const signingRequest = (spec: object): AnyObject => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name: "r" },
  spec,
});

test("the server says who asked for a certificate, and says nothing it does not know", async () => {
  const admission = createAdmission([certificateRequester]);
  const forged = { username: "root", uid: "0", groups: ["system:masters"], extra: { a: ["b"] } };
  const asked = signingRequest({ signerName: "acme.com/web", ...forged });
  const mutate = (user: { name: string; groups: string[]; uid?: string }, over: object = {}) =>
    admission.mutate(fakeRequest(asked, { user, ...over }));
  assert.deepEqual((await mutate({ name: "jane", groups: [] }))["spec"], {
    signerName: "acme.com/web",
    username: "jane",
  });
  assert.deepEqual((await mutate({ name: "jane", groups: ["a"], uid: "7" }))["spec"], {
    signerName: "acme.com/web",
    username: "jane",
    uid: "7",
    groups: ["a"],
  });
  const jane = { name: "jane", groups: [] };
  assert.equal(await mutate(jane, { operation: "UPDATE", subresource: "status" }), asked);
});

test("conditions of a request get the times they lack", async () => {
  const clock = new FakeClock();
  const admission = createAdmission([certificateConditions({ clock })]);
  const now = "2026-01-01T00:00:00Z";
  const old = "2025-01-01T00:00:00Z";
  const approved = { type: "Approved", status: "True" };
  const mutate = async (next: object[], before: object[], subresource = "approval") => {
    const of = (conditions: object[]) => ({ ...signingRequest({}), status: { conditions } });
    const over = { operation: "UPDATE", subresource, oldObject: of(before) } as const;
    return (await admission.mutate(fakeRequest(of(next), over)))["status"];
  };
  const stamped = { ...approved, lastUpdateTime: now, lastTransitionTime: now };
  assert.deepEqual(await mutate([approved], []), { conditions: [stamped] });
  assert.deepEqual(await mutate([approved], [], "status"), { conditions: [stamped] });
  assert.deepEqual(await mutate([approved], [], ""), { conditions: [approved] });
  const stored = { ...approved, lastUpdateTime: old, lastTransitionTime: old };
  assert.deepEqual(await mutate([stored], [stored]), { conditions: [stored] });
  assert.deepEqual(await mutate([approved], [stored]), {
    conditions: [{ ...stamped, lastTransitionTime: old }],
  });
});

test("a client certificate of system:masters, and a request without proof, are refused", async () => {
  const readCertificateRequest = (request: string) => {
    if (request === "") return { kind: "unreadable", fault: "no PEM" } as const;
    const signatureFault = () => (request === "forged" ? "not its key" : undefined);
    const facts = { commonName: "x", organizations: ["devs", request], signatureFault };
    return { kind: "read", facts } as const;
  };
  const admission = createAdmission([
    certificateProof({ readCertificateRequest }),
    certificateSubjectRestriction({ readCertificateRequest }),
  ]);
  const check = (signerName: string, request: string) =>
    outcome(() => admission.validate(fakeRequest(signingRequest({ signerName, request }))));
  const client = "kubernetes.io/kube-apiserver-client";
  assert.equal(
    await check(client, "system:masters"),
    '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  );
  assert.equal(await check("acme.com/web", "system:masters"), "admitted");
  assert.equal(await check(client, "ops"), "admitted");
  assert.equal(
    await check("acme.com/web", "forged"),
    '422 CertificateSigningRequest.certificates.k8s.io "r" is invalid: spec.request: Invalid value: "forged": not its key',
  );
  assert.match(await check("acme.com/web", ""), /^422 .*Invalid value: "": no PEM$/);
});

test("attesting a trust bundle and issuing a pod's certificate need the right on the signer", async () => {
  const access = { isAllowed: () => false, escalation: () => undefined };
  const admission = createAdmission([
    clusterTrustBundleAttest({ access }),
    podCertificateSigning({ access }),
  ]);
  const bundle = (trustBundle: string, metadata: object = {}): AnyObject => ({
    apiVersion: "certificates.k8s.io/v1beta1",
    kind: "ClusterTrustBundle",
    metadata: { name: "b", ...metadata },
    spec: { signerName: "acme.com/web", trustBundle },
  });
  const check = (object: AnyObject, over: object = {}) =>
    outcome(() => admission.validate(fakeRequest(object, over)));
  const update = { operation: "UPDATE", oldObject: bundle("a") };
  const refused =
    '403 clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "acme.com/web"';
  assert.equal(await check(bundle("a")), refused);
  assert.equal(await check(bundle("b"), update), refused);
  assert.equal(await check(bundle("a", { finalizers: ["f.example.com/x"] }), update), "admitted");
  const request = (status: object): AnyObject => ({
    apiVersion: "certificates.k8s.io/v1beta1",
    kind: "PodCertificateRequest",
    metadata: { name: "r", namespace: "ns" },
    spec: { signerName: "acme.com/web" },
    status,
  });
  const issue = { operation: "UPDATE", subresource: "status", oldObject: request({}) };
  assert.equal(
    await check(request({ certificateChain: "x" }), issue),
    '422 PodCertificateRequest.certificates.k8s.io "r" is invalid: spec.signerName: Forbidden: User "jane" is not permitted to "sign" for signer "acme.com/web"',
  );
  assert.equal(await check(request({}), issue), "admitted");
});

test("a driver reports on devices of its own node, or with the right to those of any", async () => {
  const asked: string[] = [];
  const access = {
    isAllowed: ({ verb, name }: { verb: string; name: string }) => {
      asked.push(`${verb} ${name}`);
      return verb === "associated-node:update";
    },
    escalation: () => undefined,
  };
  const admission = createAdmission([resourceClaims({ lookup: new FakeLookup(), access })]);
  const expression = { key: "metadata.name", operator: "In", values: ["n1"] };
  const nodeSelector = { nodeSelectorTerms: [{ matchFields: [expression] }] };
  const allocation = { devices: { results: [] }, nodeSelector };
  const claim = (status: object): AnyObject => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "c", namespace: "ns" },
    status: { allocation, ...status },
  });
  const device = { driver: "d.example.com", pool: "p", device: "0" };
  const check = (node: string, devices: object[]) => {
    const extra = { "authentication.kubernetes.io/node-name": [node] };
    const user = { name: "system:serviceaccount:ns:driver", groups: [], extra };
    const over = {
      operation: "UPDATE",
      subresource: "status",
      oldObject: claim({}),
      user,
    } as const;
    return outcome(() => admission.validate(fakeRequest(claim({ devices }), over)));
  };
  assert.equal(await check("n1", [device]), "admitted");
  assert.match(await check("n2", [device]), /^422 .*verb="\[arbitrary-node:update\]" permission/);
  assert.equal(await check("n2", []), "admitted");
  assert.deepEqual(asked, [
    "associated-node:update d.example.com",
    "arbitrary-node:update d.example.com",
  ]);
});
