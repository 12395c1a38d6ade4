/**
 * Every field of a pod that names another object, taken from the generated schema, is found in a pod that has
 * it. A field that comes with a later release fails here until it is classified.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiReferenceOf, podReferences } from "./pod-references.ts";
import { schemaOf } from "../schema/schema.ts";
import type { FieldSchema } from "../schema/schema-types.ts";
import { volumeSecrets } from "../volumes/volume-secrets.ts";

const core = "io.k8s.api.core.v1.";

/** A path to a scalar, as an object with that one value: `{ volumes: [{ secret: { secretName: "x" } }] }`. */
interface Leaf {
  /** `volumes[].secret.secretName`. */
  readonly path: string;
  /** Definition and field the leaf belongs to: `SecretVolumeSource.secretName`. */
  readonly owner: string;
  readonly value: Record<string, unknown>;
}

function leavesOf(definition: string, seen: readonly string[] = []): Leaf[] {
  const schema = schemaOf(definition);
  assert.ok(schema !== undefined, definition);
  if (seen.includes(definition)) return [];
  return Object.entries(schema.fields).flatMap(([name, field]) =>
    fieldLeaves(definition, name, field, [...seen, definition]),
  );
}

function fieldLeaves(
  definition: string,
  name: string,
  field: FieldSchema,
  seen: readonly string[],
): Leaf[] {
  const inner = field.type === "array" ? (field.items ?? field) : field;
  const wrap = (value: unknown): Record<string, unknown> => ({
    [name]: field.type === "array" ? [value] : value,
  });
  const step = field.type === "array" ? `${name}[]` : name;
  if (inner.type === "object" && inner.ref !== undefined) {
    return leavesOf(inner.ref, seen).map((leaf) => ({
      ...leaf,
      path: `${step}.${leaf.path}`,
      value: wrap(leaf.value),
    }));
  }
  const owner = `${definition.replace(core, "")}.${name}`;
  const scalar = inner.type === "string" && inner.format === undefined ? "x" : undefined;
  return scalar === undefined ? [] : [{ path: step, owner, value: wrap(scalar) }];
}

/** Names of objects that the server keeps and a kubelet reads, by the type that holds them. */
const references: ReadonlySet<string> = new Set([
  "AzureFileVolumeSource.secretName",
  "CSIVolumeSource.driver",
  "ClusterTrustBundleProjection.name",
  "ClusterTrustBundleProjection.signerName",
  "ConfigMapEnvSource.name",
  "ConfigMapKeySelector.name",
  "ConfigMapProjection.name",
  "ConfigMapVolumeSource.name",
  "GlusterfsVolumeSource.endpoints",
  "LocalObjectReference.name",
  "PersistentVolumeClaimVolumeSource.claimName",
  "PodCertificateProjection.signerName",
  "PodResourceClaim.resourceClaimName",
  "PodResourceClaim.resourceClaimTemplateName",
  "PodSpec.serviceAccount",
  "PodSpec.serviceAccountName",
  "SecretEnvSource.name",
  "SecretKeySelector.name",
  "SecretProjection.name",
  "SecretVolumeSource.secretName",
  "ServiceAccountTokenProjection.audience",
]);

/** Fields named like references that are none: names within the pod, of its node, of things outside the cluster. */
const plainNames: ReadonlySet<string> = new Set([
  "AzureDiskVolumeSource.diskName",
  "AzureFileVolumeSource.shareName",
  "CephFSVolumeSource.secretFile",
  "Container.name",
  "ContainerPort.name",
  "ContainerResizePolicy.resourceName",
  "EnvVar.name",
  "EphemeralContainer.name",
  "EphemeralContainer.targetContainerName",
  "FileKeySelector.volumeName",
  "FlockerVolumeSource.datasetName",
  "GCEPersistentDiskVolumeSource.pdName",
  "HTTPHeader.name",
  "ISCSIVolumeSource.initiatorName",
  "PodCertificateProjection.credentialBundlePath",
  "PodDNSConfigOption.name",
  "PodOS.name",
  "PodResourceClaim.name",
  "PodSpec.hostname",
  "PodSpec.nodeName",
  "PodSpec.priorityClassName",
  "PodSpec.runtimeClassName",
  "PodSpec.schedulerName",
  "PodSchedulingGate.name",
  "PodSchedulingGroup.podGroupName",
  "ResourceClaim.name",
  "ResourceFieldSelector.containerName",
  "ScaleIOVolumeSource.volumeName",
  "StorageOSVolumeSource.volumeName",
  "StorageOSVolumeSource.volumeNamespace",
  "Sysctl.name",
  "Volume.name",
  "VolumeDevice.name",
  "VolumeMount.name",
  "VsphereVirtualDiskVolumeSource.storagePolicyName",
  "WindowsSecurityContextOptions.gmsaCredentialSpecName",
  "WindowsSecurityContextOptions.runAsUserName",
]);

const leaves = leavesOf(`${core}PodSpec`);
/** The claim an ephemeral volume makes is an object of its own. */
const isTemplate = ({ path }: Leaf): boolean => path.includes("volumeClaimTemplate");
const podOf = ({ value }: Leaf) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: named(value),
});

/** Volumes are identified by name; each case sets one of the other fields. */
function named(value: Record<string, unknown>): Record<string, unknown> {
  const { volumes } = value as { volumes?: object[] };
  return volumes === undefined
    ? value
    : { volumes: volumes.map((each) => ({ name: "v", ...each })) };
}

test("every field of a pod named like a reference is known to be one or not", () => {
  const suspicious = /name$|ref$|secret|claim|account|audience|endpoints|bundle/i;
  const unknown = leaves
    .filter((leaf) => !isTemplate(leaf))
    .filter(({ owner }) => suspicious.test(owner.split(".")[1] ?? ""))
    .filter(({ owner }) => !references.has(owner) && !plainNames.has(owner))
    .map(({ path, owner }) => `${path} (${owner})`);
  assert.deepEqual(unknown, []);
  const found = new Set(leaves.map(({ owner }) => owner));
  const gone = [...references, ...plainNames].filter((owner) => !found.has(owner));
  assert.deepEqual(gone, []);
});

test("a pod with any one of the references needs the API server", () => {
  const named = leaves.filter(({ owner }) => references.has(owner));
  assert.ok(named.length > 30, `only ${named.length} references`);
  const missed = named.filter((leaf) => apiReferenceOf(podOf(leaf)).kind === "none");
  assert.deepEqual(
    missed.map(({ path }) => path),
    [],
  );
});

test("every secret and config map of a pod is found by its name", () => {
  for (const leaf of leaves.filter(({ owner }) => references.has(owner))) {
    const { secrets, configMaps } = podReferences(podOf(leaf));
    if (/Secret|secretName|LocalObjectReference/.test(leaf.owner)) {
      assert.deepEqual(secrets, ["x"], leaf.path);
    }
    if (leaf.owner.startsWith("ConfigMap")) assert.deepEqual(configMaps, ["x"], leaf.path);
  }
});

test("every volume source of the schema is known, and one that is not counts as a reference", () => {
  for (const [definition, wrap] of [
    ["Volume", (source: object) => ({ volumes: [{ name: "v", ...source }] })],
    [
      "VolumeProjection",
      (source: object) => ({ volumes: [{ name: "v", projected: { sources: [source] } }] }),
    ],
  ] as const) {
    for (const name of Object.keys(schemaOf(core + definition)?.fields ?? {})) {
      if (name === "name") continue;
      const pod = { spec: wrap({ [name]: {} }) };
      assert.notEqual(apiReferenceOf(pod).kind, "unknown", `${definition}.${name}`);
    }
    const tomorrow = apiReferenceOf({ spec: wrap({ tomorrow: {} }) });
    assert.equal(tomorrow.kind, "unknown");
  }
});

test("a pod without references needs nothing", () => {
  const spec = {
    containers: [
      { name: "c", env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
    ],
    volumes: [
      { name: "a", hostPath: { path: "/" } },
      { name: "b", projected: { sources: [{ downwardAPI: {} }] } },
      { name: "c", emptyDir: {} },
    ],
  };
  assert.deepEqual(apiReferenceOf({ spec }), { kind: "none" });
});

test("claims are found by name, by template and by volume", () => {
  const pod = {
    metadata: { name: "p" },
    spec: {
      volumes: [
        { name: "a", persistentVolumeClaim: { claimName: "data" } },
        { name: "b", ephemeral: {} },
      ],
      resourceClaims: [
        { name: "one", resourceClaimName: "given" },
        { name: "two", resourceClaimTemplateName: "t" },
        { name: "three", resourceClaimTemplateName: "t" },
      ],
    },
    status: {
      resourceClaimStatuses: [{ name: "two", resourceClaimName: "made" }, { name: "three" }],
      extendedResourceClaimStatus: { resourceClaimName: "extended" },
    },
  };
  assert.deepEqual(podReferences(pod).claims, ["data", "p-b"]);
  assert.deepEqual(podReferences(pod).resourceClaims, ["given", "made", "extended"]);
});

test("every secret of a volume is either the kubelet's or the controllers'", () => {
  const controllers = /controllerPublishSecretRef|controllerExpandSecretRef/;
  const secrets = leavesOf(`${core}PersistentVolumeSpec`).filter(
    ({ path }) => /secret/i.test(path) && /name$/i.test(path),
  );
  assert.ok(secrets.length > 10, `only ${secrets.length} secrets`);
  for (const { path, value } of secrets) {
    const spec = { ...value, claimRef: { namespace: "ns", name: "c" } };
    const expected = controllers.test(path) ? [] : ["x"];
    assert.deepEqual(
      volumeSecrets({ spec }).map(({ name }) => name),
      expected,
      path,
    );
  }
});

test("the secret of a volume is in the namespace it says, or in that of the claim", () => {
  const claimRef = { namespace: "ns", name: "c" };
  const of = (spec: object) => volumeSecrets({ spec: { claimRef, ...spec } });
  assert.deepEqual(of({ rbd: { secretRef: { name: "s" } } }), [{ namespace: "ns", name: "s" }]);
  assert.deepEqual(of({ rbd: { secretRef: { name: "s", namespace: "o" } } }), [
    { namespace: "o", name: "s" },
  ]);
  assert.deepEqual(of({ csi: { nodeStageSecretRef: { name: "s" } } }), [
    { namespace: "", name: "s" },
  ]);
  assert.deepEqual(of({ azureFile: { secretName: "s" } }), [{ namespace: "ns", name: "s" }]);
});
