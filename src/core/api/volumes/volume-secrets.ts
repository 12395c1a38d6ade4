/**
 * The secrets that a kubelet reads to mount a PersistentVolume. The node authorizer lets a node that uses the
 * volume's claim read them.
 *
 * Holds  every field of PersistentVolumeSpec that names a secret is either in `sources` or for controllers
 *        only. pod-references.test.ts checks this against the generated schema.
 * After  upstream pkg/api/v1/persistentvolume/util.go (VisitPVSecretNames, kubeletVisible).
 */
import type { AnyObject } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import { maybe, part, text } from "../validation/fields.ts";

interface VolumeSecret {
  readonly namespace: string;
  readonly name: string;
}

interface Source {
  readonly refs: readonly string[];
  /** A reference without a namespace, as in old objects, means the claim's. */
  readonly claimNamespace: boolean;
}

const ofClaim: Source = { refs: ["secretRef"], claimNamespace: true };
const ofItself: Source = { refs: ["secretRef"], claimNamespace: false };
const csi = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];

const sources: readonly (readonly [string, Source])[] = [
  ["cephfs", ofClaim],
  ["cinder", ofItself],
  ["flexVolume", ofClaim],
  ["rbd", ofClaim],
  ["scaleIO", ofClaim],
  ["iscsi", ofClaim],
  ["storageos", ofItself],
  ["csi", { refs: csi, claimNamespace: false }],
];

const known = new WeakMap<AnyObject, readonly VolumeSecret[]>();

/** Computed once per volume object, because objects are immutable. */
export function volumeSecrets(volume: AnyObject): readonly VolumeSecret[] {
  const seen = known.get(volume);
  if (seen !== undefined) return seen;
  const secrets = collect(volume);
  known.set(volume, secrets);
  return secrets;
}

function collect(volume: AnyObject): readonly VolumeSecret[] {
  const spec = part(volume, "spec");
  const claimNamespace = text(part(spec, "claimRef"), "namespace");
  const found = sources.flatMap(([field, source]) =>
    source.refs.map((ref) => ({
      namespace: namespaceOf(part(part(spec, field), ref), source, claimNamespace),
      name: text(part(part(spec, field), ref), "name"),
    })),
  );
  return [...found, azureSecret(maybe(spec, "azureFile"), claimNamespace)].filter(
    ({ name }) => name !== "",
  );
}

function namespaceOf(ref: Fields, source: Source, claimNamespace: string): string {
  return text(ref, "namespace") || (source.claimNamespace ? claimNamespace : "");
}

function azureSecret(source: Fields = {}, claimNamespace: string): VolumeSecret {
  return {
    namespace: text(source, "secretNamespace") || claimNamespace,
    name: text(source, "secretName"),
  };
}
