/** Table rows of the core group, except pods and services. */
import type { AnyObject } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import { has, items, maybe, part, text, texts, without } from "../validation/fields.ts";
import type { StrategyRow } from "./build.ts";
import { pods } from "./pod.ts";
import { services } from "./service.ts";

const namespaceFinalizer = "kubernetes";
const namespaceLabel = "kubernetes.io/metadata.name";

/** Adds the finalizer that the namespace controller removes when the namespace is empty. */
function prepareNamespace(namespace: AnyObject): AnyObject {
  const spec = part(namespace, "spec");
  const given = texts(spec, "finalizers");
  const finalizers = given.includes(namespaceFinalizer) ? given : [...given, namespaceFinalizer];
  return withNameLabel({ ...namespace, spec: { ...spec, finalizers } });
}

/** Runs after generated names are known, too. */
function withNameLabel(namespace: AnyObject): AnyObject {
  const name = namespace.metadata?.name ?? "";
  if (name === "" || namespace.metadata?.labels?.[namespaceLabel] === name) return namespace;
  const labels = { ...namespace.metadata?.labels, [namespaceLabel]: name };
  return { ...namespace, metadata: { ...namespace.metadata, labels } };
}

function keepFinalizers(next: AnyObject, old: AnyObject): AnyObject {
  const { finalizers, ...spec } = part(next, "spec");
  void finalizers;
  const before = part(old, "spec")["finalizers"];
  const kept = before === undefined ? spec : { ...spec, finalizers: before };
  return withNameLabel({ ...next, spec: kept });
}

/** Only the finalizers in the spec can be changed here. */
function prepareFinalize(next: AnyObject, old: AnyObject): AnyObject {
  const { status, ...rest } = next;
  void status;
  return "status" in old ? { ...rest, status: old["status"] } : rest;
}

/**
 * Drops a source in another namespace (CrossNamespaceVolumeDataSource, off) and a source of a kind that only
 * `dataSourceRef` may name, unless the stored claim has a source. Shows the deprecated one of the two fields beside the
 * new one.
 */
function prepareDataSources(claim: AnyObject, old?: AnyObject): AnyObject {
  const before = part(old ?? {}, "spec");
  let spec = part(claim, "spec");
  const reference = maybe(spec, "dataSourceRef");
  const isElsewhere = reference !== undefined && text(reference, "namespace") !== "";
  if (isElsewhere && !has(before, "dataSourceRef")) {
    const { dataSourceRef: _, ...rest } = spec;
    spec = rest;
  }
  const source = maybe(spec, "dataSource");
  const isUsed = has(before, "dataSource") || has(spec, "dataSourceRef");
  if (source !== undefined && !isUsed && !isClassicSource(source)) {
    const { dataSource: _, ...rest } = spec;
    spec = rest;
  }
  return normalizeDataSources(spec === part(claim, "spec") ? claim : { ...claim, spec });
}

function isClassicSource(source: Fields): boolean {
  const name = `${text(source, "apiGroup")}/${text(source, "kind")}`;
  return name === "/PersistentVolumeClaim" || name === "snapshot.storage.k8s.io/VolumeSnapshot";
}

function normalizeDataSources(claim: AnyObject): AnyObject {
  const spec = part(claim, "spec");
  const source = maybe(spec, "dataSource");
  const reference = maybe(spec, "dataSourceRef");
  if (source !== undefined && reference === undefined) {
    return { ...claim, spec: { ...spec, dataSourceRef: source } };
  }
  if (reference === undefined || source !== undefined || has(reference, "namespace")) return claim;
  return { ...claim, spec: { ...spec, dataSource: reference } };
}

/** References to secrets keep only their name. */
function cleanSecretReferences(account: AnyObject): AnyObject {
  const secrets = items(account, "secrets");
  if (secrets.every((secret) => Object.keys(secret).length <= 1)) return account;
  return { ...account, secrets: secrets.map((secret) => ({ name: text(secret, "name") })) };
}

/** A volume is Pending from its creation on. */
function stampPhase(volume: AnyObject): AnyObject {
  const lastPhaseTransitionTime = volume.metadata?.creationTimestamp;
  if (lastPhaseTransitionTime === undefined) return volume;
  return { ...volume, status: { ...wantedPending, lastPhaseTransitionTime } };
}

const wantedPending: Fields = { phase: "Pending" };

/** The feature was removed: only a node that already has the field keeps it. */
function withoutConfigSource(node: AnyObject): AnyObject {
  const spec = part(node, "spec");
  return has(spec, "configSource") ? { ...node, spec: without(spec, ["configSource"]) } : node;
}

export const coreRows: Readonly<Record<string, StrategyRow>> = {
  pods,
  services,
  namespaces: {
    status: { phase: "Active" },
    prepareForCreate: prepareNamespace,
    prepareForUpdate: keepFinalizers,
    subresources: { finalize: prepareFinalize },
  },
  nodes: { status: {}, statusOnCreate: true, prepareForCreate: withoutConfigSource },
  persistentvolumes: { status: wantedPending, prepareForCreate: stampPhase },
  persistentvolumeclaims: {
    status: wantedPending,
    prepareForCreate: prepareDataSources,
    prepareForUpdate: prepareDataSources,
  },
  replicationcontrollers: {
    status: { replicas: 0 },
    generation: ["spec"],
    orphansByDefault: true,
    scale: true,
  },
  resourcequotas: { status: {} },
  podtemplates: { generation: ["template"] },
  configmaps: {},
  secrets: {},
  serviceaccounts: {
    prepareForCreate: cleanSecretReferences,
    prepareForUpdate: cleanSecretReferences,
  },
  endpoints: { createOnUpdate: true },
  events: { createOnUpdate: true },
  limitranges: { createOnUpdate: true },
  bindings: {},
  componentstatuses: {},
};
