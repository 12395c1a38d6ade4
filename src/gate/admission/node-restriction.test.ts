/** What a kubelet may write, once the body is read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionRequest } from "./admission.ts";
import { createAdmission } from "./chain.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

const kubelet = { name: "system:node:n1", groups: ["system:nodes"] };
const node = (name: string, fields: object = {}): AnyObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, uid: `${name}-uid`, ...fields },
});
const lookup = new FakeLookup(
  node("n1"),
  pod({ nodeName: "n1" }, { name: "mine", uid: "u1" }),
  pod({ nodeName: "n2" }, { name: "theirs", uid: "u2" }),
);
const admission = createAdmission([
  nodeRestriction({
    lookup,
    access: { isAllowed: ({ resource }) => resource === "granted", escalation: () => undefined },
    readCertificateRequest: (request) => ({
      kind: "read",
      facts: { commonName: request, organizations: [], signatureFault: () => undefined },
    }),
  }),
]);

const write = (object: AnyObject, over: Partial<AdmissionRequest> = {}) =>
  outcome(() => admission.mutate(fakeRequest(object, { user: kubelet, ...over })));
const update = (object: AnyObject, oldObject: AnyObject, subresource = "") =>
  write(object, { operation: "UPDATE", oldObject, subresource });

test("users that are not nodes are not looked at", async () => {
  assert.equal(await write(node("n2"), { user: { name: "jane", groups: [] } }), "admitted");
});

test("a node writes its own Node, without labels that attract and without its taints", async () => {
  assert.equal(
    await write(node("n1", { labels: { "kubernetes.io/hostname": "n1", own: "x" } })),
    "admitted",
  );
  assert.equal(
    await write(node("n2")),
    '403 nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  );
  assert.equal(
    await write(
      node("n1", {
        labels: { "node-restriction.kubernetes.io/a": "", "node-role.kubernetes.io/b": "" },
      }),
    ),
    '403 nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/b',
  );
  const tainted = { ...node("n1"), spec: { taints: [{ key: "k", effect: "NoSchedule" }] } };
  assert.match(await update(node("n1"), tainted), /node "n1" is not allowed to modify taints/);
});

test("a node makes and deletes mirror pods of its own", async () => {
  const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "n1-uid", controller: true };
  const mirror = (spec: object, ...ownerReferences: object[]) =>
    pod(spec, { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences });
  assert.equal(await write(mirror({ nodeName: "n1" }, owner)), "admitted");
  assert.match(await write(pod({ nodeName: "n1" })), /can only create mirror pods$/);
  assert.match(await write(mirror({ nodeName: "n2" }, owner)), /with spec.nodeName set to itself$/);
  assert.match(
    await write(mirror({ nodeName: "n1" }, { ...owner, uid: "other" })),
    /node n1 UID mismatch: expected other got n1-uid$/,
  );
  const remove = (name: string, nodeName: string) =>
    outcome(() =>
      admission.validate(
        fakeRequest(undefined, {
          user: kubelet,
          operation: "DELETE",
          oldObject: pod({ nodeName }, { name }),
        }),
      ),
    );
  assert.equal(await remove("mine", "n1"), "admitted");
  assert.match(
    await remove("theirs", "n2"),
    /node "n1" can only delete pods with spec.nodeName set to itself/,
  );
});

test("a node reports on its own pods only, and changes no labels", async () => {
  const mine = pod({ nodeName: "n1" });
  assert.equal(await update(mine, mine, "status"), "admitted");
  const theirs = pod({ nodeName: "n2" });
  assert.match(await update(theirs, theirs, "status"), /can only update pod status for pods with/);
  const labelled = pod({ nodeName: "n1" }, { labels: { a: "b" } });
  assert.match(await update(labelled, mine, "status"), /cannot update labels through pod status/);
});

test("tokens are bound to pods of the node", async () => {
  const ask = (boundObjectRef?: object, audiences = ["granted"]) =>
    write(
      {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "app", namespace: "ns" },
        spec: { audiences, boundObjectRef },
      },
      { subresource: "token" },
    );
  const ref = (name: string, uid: string) => ({ apiVersion: "v1", kind: "Pod", name, uid });
  assert.equal(await ask(ref("mine", "u1")), "admitted");
  assert.equal(
    await ask(ref("mine", "u1"), ["bank"]),
    '403 serviceaccounts "app" is forbidden: audience "bank" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  );
  assert.match(await ask(), /node requested token not bound to a pod/);
  assert.match(await ask(ref("mine", "")), /with a pod binding without a uid/);
  assert.match(await ask(ref("mine", "u9")), /does not match the UID in record/);
  assert.match(await ask(ref("theirs", "u2")), /bound to a pod scheduled on a different node/);
});

test("a node keeps its own lease", async () => {
  const lease = (name: string, namespace = "kube-node-lease") => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
  });
  assert.equal(await write(lease("n1")), "admitted");
  assert.match(await write(lease("n2")), /can only access node lease with the same name/);
  assert.match(await write(lease("n1", "ns")), /can only access leases in the "kube-node-lease"/);
});

test("audiences of pods follow volumes to their drivers, and say where that ends", async () => {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace: "ns" },
    spec: { volumeName: "pv" },
  };
  const volume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv" },
    spec: { cinder: { volumeID: "x" } },
  };
  const driver = {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: "cinder.csi.openstack.org" },
    spec: { tokenRequests: [{ audience: "disks" }] },
  };
  const ask = (): Promise<string> =>
    write(
      {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "app", namespace: "ns" },
        spec: {
          audiences: ["disks"],
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "stored", uid: "u3" },
        },
      },
      { subresource: "token" },
    );
  const said = (what: string): string =>
    `403 serviceaccounts "app" is forbidden: error validating audience "disks": ${what}`;
  lookup.put(pod({ nodeName: "n1", volumes }, { name: "stored", uid: "u3" }));
  assert.equal(await ask(), said('persistentvolumeclaim "data" not found'));
  lookup.put(claim);
  assert.equal(await ask(), said('persistentvolume "pv" not found'));
  lookup.put(volume);
  assert.equal(await ask(), said('csidriver.storage.k8s.io "cinder.csi.openstack.org" not found'));
  lookup.put(driver);
  assert.equal(await ask(), "admitted");
});

test("a kubelet reports capacity of a claim and leaves the rest alone", async () => {
  const claim = (more: object): AnyObject => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace: "ns", resourceVersion: "1" },
    spec: { volumeName: "pv" },
    ...more,
  });
  const before = claim({ status: { phase: "Bound" } });
  const grown = claim({ status: { phase: "Bound", capacity: { storage: "2Gi" } } });
  assert.equal(await update(grown, before, "status"), "admitted");
  const lost = claim({ status: { phase: "Lost" } });
  assert.match(await update(lost, before, "status"), /other than status.quantity and .*: status$/);
  assert.match(await update(grown, before), /may only update PVC status/);
});

test("a node asks for certificates in its own name", async () => {
  const ask = (signerName: string, request: string) =>
    write({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "csr" },
      spec: { signerName, request },
    });
  const signer = "kubernetes.io/kubelet-serving";
  assert.equal(await ask(signer, "system:node:n1"), "admitted");
  assert.match(await ask(signer, "system:node:n2"), /can only create a node CSR with CN=system:/);
  assert.equal(await ask("example.com/own", "system:node:n2"), "admitted");
});
