/** What a pod refers to by name in its namespace: found once per pod object, then remembered. */
import type { AnyObject } from "#api/object.ts";

export interface PodReferences {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
  readonly claims: readonly string[];
  readonly serviceAccounts: readonly string[];
}

interface NameField {
  readonly name?: string;
  readonly secretName?: string;
}

interface VolumeSources {
  readonly secret?: NameField;
  readonly configMap?: NameField;
}

interface Volume extends VolumeSources {
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly projected?: { readonly sources?: readonly VolumeSources[] };
  /** The claim of an ephemeral volume is named pod-volume. */
  readonly ephemeral?: object;
  readonly name?: string;
  /** Every other source keeps its secret in one of two fields. */
  readonly [source: string]: unknown;
}

interface Container {
  readonly env?: readonly {
    readonly valueFrom?: {
      readonly secretKeyRef?: NameField;
      readonly configMapKeyRef?: NameField;
    };
  }[];
  readonly envFrom?: readonly {
    readonly secretRef?: NameField;
    readonly configMapRef?: NameField;
  }[];
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly NameField[];
  readonly volumes?: readonly Volume[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
}

const known = new WeakMap<AnyObject, PodReferences>();

export function podReferences(pod: AnyObject): PodReferences {
  const seen = known.get(pod);
  if (seen !== undefined) return seen;
  const references = collect(pod);
  known.set(pod, references);
  return references;
}

function collect(pod: AnyObject): PodReferences {
  const spec = (pod["spec"] ?? {}) as PodSpec;
  const secrets = (spec.imagePullSecrets ?? []).map((reference) => reference.name);
  const configMaps: (string | undefined)[] = [];
  const claims: (string | undefined)[] = [];
  for (const volume of spec.volumes ?? []) {
    for (const source of [volume, ...(volume.projected?.sources ?? [])]) {
      secrets.push(source.secret?.secretName ?? source.secret?.name);
      configMaps.push(source.configMap?.name);
    }
    secrets.push(...driverSecrets(volume));
    claims.push(volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) claims.push(`${pod.metadata?.name}-${volume.name}`);
  }
  const kinds = [spec.containers, spec.initContainers, spec.ephemeralContainers];
  for (const container of kinds.flatMap((list) => list ?? [])) {
    for (const entry of container.env ?? []) {
      secrets.push(entry.valueFrom?.secretKeyRef?.name);
      configMaps.push(entry.valueFrom?.configMapKeyRef?.name);
    }
    for (const entry of container.envFrom ?? []) {
      secrets.push(entry.secretRef?.name);
      configMaps.push(entry.configMapRef?.name);
    }
  }
  return {
    secrets: present(secrets),
    configMaps: present(configMaps),
    claims: present(claims),
    serviceAccounts: present([spec.serviceAccountName]),
  };
}

/** Secrets of volume drivers: `secretRef`, `nodePublishSecretRef`, or azureFile's `secretName`. */
function driverSecrets(volume: Volume): readonly (string | undefined)[] {
  return Object.values(volume).flatMap((source) => {
    if (typeof source !== "object" || source === null) return [];
    const { secretRef, nodePublishSecretRef, secretName } = source as Readonly<
      Record<string, unknown>
    >;
    const names = [secretRef, nodePublishSecretRef].map(
      (reference) => (reference as NameField | undefined)?.name,
    );
    return [...names, typeof secretName === "string" ? secretName : undefined];
  });
}

function present(names: readonly (string | undefined)[]): readonly string[] {
  return names.filter((name): name is string => name !== undefined && name !== "");
}
