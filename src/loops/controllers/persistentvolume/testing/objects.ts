/** Compact constructors of volumes and claims for tests. */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "#api/gen/types.ts";
import { given } from "#base/given.ts";

interface VolumeShape {
  readonly size?: string;
  readonly modes?: readonly string[];
  readonly className?: string;
  readonly policy?: string;
  readonly phase?: string;
  /** `namespace/name` or `namespace/name/uid`. */
  readonly claimRef?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: PersistentVolume["spec"];
  /** The only node that can use it. */
  readonly host?: string;
}

export function makeVolume(name: string, shape: VolumeShape = {}): PersistentVolume {
  const { size = "1Gi", modes = ["ReadWriteOnce"], className, policy = "Retain" } = shape;
  const { claimRef, annotations, labels, host, phase = "Available" } = shape;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name,
      uid: `uid-${name}`,
      finalizers: ["kubernetes.io/pv-protection"],
      ...given({ annotations, labels }),
    },
    spec: {
      capacity: { storage: size },
      accessModes: modes,
      persistentVolumeReclaimPolicy: policy,
      hostPath: { path: `/tmp/${name}` },
      volumeMode: "Filesystem",
      ...given({ storageClassName: className }),
      ...(claimRef === undefined ? {} : { claimRef: referenceOf(claimRef) }),
      ...(host === undefined ? {} : { nodeAffinity: { required: onHost(host) } }),
      ...shape.spec,
    },
    status: { phase },
  };
}

function referenceOf(text: string) {
  const [namespace = "", name = "", uid] = text.split("/");
  return { namespace, name, ...given({ uid }) };
}

function onHost(host: string) {
  const expression = { key: "kubernetes.io/hostname", operator: "In", values: [host] };
  return { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
}

interface ClaimShape {
  readonly size?: string;
  readonly modes?: readonly string[];
  /** Absent: not set; "": no class. */
  readonly className?: string;
  readonly volumeName?: string;
  readonly phase?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: PersistentVolumeClaim["spec"];
}

export function makeClaim(name: string, shape: ClaimShape = {}): PersistentVolumeClaim {
  const { size = "1Gi", modes = ["ReadWriteOnce"], className = "", volumeName } = shape;
  const { annotations, phase = "Pending", uid = `uid-${name}` } = shape;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace: "default",
      uid,
      finalizers: ["kubernetes.io/pvc-protection"],
      ...given({ annotations }),
    },
    spec: {
      accessModes: modes,
      resources: { requests: { storage: size } },
      storageClassName: className,
      volumeMode: "Filesystem",
      ...given({ volumeName }),
      ...shape.spec,
    },
    status: { phase },
  };
}

export function makeClass(
  name: string,
  provisioner: string,
  volumeBindingMode = "Immediate",
): StorageClass {
  return { metadata: { name }, provisioner, volumeBindingMode };
}
