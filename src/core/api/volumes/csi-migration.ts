/**
 * Translates in-tree volumes for the CSI drivers that replace them: source, handle and topology of a
 * PersistentVolume of seven providers. Pure; arguments are not changed.
 *
 * After  k8s.io/csi-translation-lib 0.36 (translate.go, plugins). For volumes written into pods only the handle.
 *        Not here: classes, and the reverse translation.
 */
import { given } from "#base/given.ts";
import type { CSIPersistentVolumeSource, PersistentVolume, Volume } from "../gen/types.ts";
import { withRegionAndZone, withZone, zonesOfLabels } from "./csi-topology.ts";

type Spec = NonNullable<PersistentVolume["spec"]>;
type Source = Omit<CSIPersistentVolumeSource, "driver">;

interface Plugin {
  readonly name: string;
  readonly driver: string;
  /** Undefined: the source cannot be translated. */
  readonly sourceOf: (volume: PersistentVolume, spec: Spec) => Source | undefined;
  /** Further changes of the spec. */
  readonly rest?: (volume: PersistentVolume, spec: Spec) => Partial<Spec>;
}

type SourceField = keyof Spec &
  (
    | "awsElasticBlockStore"
    | "azureDisk"
    | "azureFile"
    | "cinder"
    | "gcePersistentDisk"
    | "portworxVolume"
    | "vsphereVolume"
  );

const plugins: Readonly<Record<SourceField, Plugin>> = {
  awsElasticBlockStore: {
    name: "kubernetes.io/aws-ebs",
    driver: "ebs.csi.aws.com",
    sourceOf: (_volume, { awsElasticBlockStore: source }) => {
      const volumeHandle = ebsHandle(source?.volumeID ?? "");
      if (volumeHandle === undefined) return undefined;
      const volumeAttributes = { partition: String(source?.partition ?? 0) };
      return { volumeHandle, ...mounted(source), volumeAttributes };
    },
    rest: (volume, spec) => withZone(volume, spec, "topology.ebs.csi.aws.com/zone"),
  },
  azureDisk: {
    name: "kubernetes.io/azure-disk",
    driver: "disk.csi.azure.com",
    sourceOf: (_volume, { azureDisk: source }) => {
      // Before `kind` existed, disks had none; today's default is Shared.
      if (source?.kind !== undefined && source.kind.toLowerCase() !== "managed") return undefined;
      const { cachingMode, fsType } = source ?? {};
      const volumeAttributes = {
        kind: "Managed",
        ...given({ cachingmode: cachingMode, fstype: fsType }),
      };
      return { volumeHandle: source?.diskURI ?? "", ...mounted(source), volumeAttributes };
    },
  },
  azureFile: {
    name: "kubernetes.io/azure-file",
    driver: "file.csi.azure.com",
    sourceOf: azureFileSource,
  },
  cinder: {
    name: "kubernetes.io/cinder",
    driver: "cinder.csi.openstack.org",
    sourceOf: (_volume, { cinder: source }) => ({
      volumeHandle: source?.volumeID ?? "",
      ...mounted(source),
    }),
    rest: (volume, spec) => withZone(volume, spec, "topology.cinder.csi.openstack.org/zone"),
  },
  gcePersistentDisk: {
    name: "kubernetes.io/gce-pd",
    driver: "pd.csi.storage.gke.io",
    sourceOf: (volume, { gcePersistentDisk: source }) => {
      const place = gcePlace(zonesOfLabels(volume));
      if (place === undefined) return undefined;
      const volumeHandle = `projects/UNSPECIFIED/${place}/disks/${source?.pdName ?? ""}`;
      const { partition = 0 } = source ?? {};
      const volumeAttributes = { partition: partition === 0 ? "" : String(partition) };
      return { volumeHandle, ...mounted(source), volumeAttributes };
    },
    rest: (volume, spec) => ({
      ...withZone(volume, spec, "topology.gke.io/zone"),
      ...(spec.accessModes === undefined ? {} : { accessModes: gceModes(spec.accessModes) }),
    }),
  },
  portworxVolume: {
    name: "kubernetes.io/portworx-volume",
    driver: "pxd.portworx.com",
    sourceOf: portworxSource,
  },
  vsphereVolume: {
    name: "kubernetes.io/vsphere-volume",
    driver: "csi.vsphere.vmware.com",
    sourceOf: (_volume, { vsphereVolume: source }) => {
      const { storagePolicyName = "", volumePath = "" } = source ?? {};
      const policy = { volumeAttributes: { storagepolicyname: storagePolicyName } };
      const { fsType } = mounted(source);
      return {
        volumeHandle: volumePath,
        ...given({ fsType }),
        ...(storagePolicyName === "" ? {} : policy),
      };
    },
    rest: (volume, spec) => withRegionAndZone(volume, spec, "topology.csi.vmware.com"),
  },
};

const fields = Object.keys(plugins) as readonly SourceField[]; // just those
const byName = new Map(Object.values(plugins).map(({ name, driver }) => [name, driver]));

/** The CSI driver that replaces an in-tree plugin or provisioner. */
export function csiDriverOf(plugin: string): string | undefined {
  return byName.get(plugin);
}

/** The in-tree plugin of the volume's source; undefined for other volumes. */
export function inTreePluginOf({ spec }: PersistentVolume): string | undefined {
  const field = fields.find((candidate) => spec?.[candidate] !== undefined);
  return field === undefined ? undefined : plugins[field].name;
}

/** Cached by volume, because volumes are shared and immutable. */
const translated = new WeakMap<PersistentVolume, PersistentVolume>();

/** The volume with a CSI source; unchanged when it has no in-tree source or it cannot be translated. */
export function asCsi(volume: PersistentVolume): PersistentVolume {
  const { spec } = volume;
  const field = fields.find((candidate) => spec?.[candidate] !== undefined);
  if (spec === undefined || field === undefined) return volume;
  const known = translated.get(volume);
  if (known !== undefined) return known;
  const { [field]: _, ...others } = spec;
  const { driver, sourceOf, rest } = plugins[field];
  const source = sourceOf(volume, spec);
  const made =
    source === undefined
      ? volume
      : { ...volume, spec: { ...others, ...rest?.(volume, spec), csi: { driver, ...source } } };
  translated.set(volume, made);
  return made;
}

/** A disk named directly in a pod's volume, in the terms of its CSI driver. */
export interface InlineDisk {
  /** Such as `kubernetes.io/aws-ebs`. */
  readonly plugin: string;
  readonly driver: string;
  readonly handle: string;
}

/** Undefined: the volume has no in-tree plugin, or translating it requires a PersistentVolume. */
export function inlineDisk(volume: Volume): InlineDisk | undefined {
  const field = fields.find((candidate) => volume[candidate] !== undefined);
  if (field === undefined) return undefined;
  const spec = { [field]: volume[field] };
  const { name: plugin, driver, sourceOf } = plugins[field];
  const handle = sourceOf({ spec }, spec)?.volumeHandle;
  return handle === undefined ? undefined : { plugin, driver, handle };
}

interface Mounted {
  readonly fsType?: string;
  readonly readOnly?: boolean;
}

/** As Go, omits "" and false. */
function mounted(source: Mounted | undefined): Mounted {
  const { fsType = "", readOnly = false } = source ?? {};
  return { ...(fsType === "" ? {} : { fsType }), ...(readOnly ? { readOnly } : {}) };
}

/** `vol-1`, or `aws://zone/vol-1`. */
function ebsHandle(id: string): string | undefined {
  if (!id.startsWith("aws://")) return id;
  const path = id.slice("aws://".length).replace(/^[^/?#]*/, "");
  const name = (path.split(/[?#]/)[0] ?? "").replace(/^\/+|\/+$/g, "");
  return /^vol-[^/]*$/.test(name) ? name : undefined;
}

function azureFileSource(volume: PersistentVolume, spec: Spec): Source | undefined {
  const { secretName = "", shareName = "", secretNamespace, readOnly } = spec.azureFile ?? {};
  const namespace = secretNamespace ?? spec.claimRef?.namespace ?? "";
  if (namespace === "") return undefined;
  const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
  const { annotations, name = "" } = volume.metadata ?? {};
  const group = annotations?.["kubernetes.io/azure-file-resource-group"] ?? "";
  return {
    volumeHandle: [group, account, shareName, name, namespace].join("#"),
    ...mounted(readOnly === undefined ? {} : { readOnly }),
    volumeAttributes: { sharename: shareName },
    nodeStageSecretRef: { name: secretName, namespace },
  };
}

/** Zero or one zone, or several of one region; undefined: several regions, or unknown zones. */
function gcePlace(zones: readonly string[]): string | undefined {
  const [first = ""] = zones;
  if (zones.length < 2) return `zones/${first === "" ? "UNSPECIFIED" : first}`;
  const parts = zones.map((zone) => zone.split("-"));
  if (parts.some(({ length }) => length !== 3)) return undefined;
  const regions = new Set(parts.map(([locale, region]) => `${locale}-${region}`));
  const [region] = regions;
  return regions.size === 1 ? `regions/${region}` : undefined;
}

/** The driver supports no ReadWriteMany and no combination with ReadOnlyMany; these become ReadWriteOnce. */
function gceModes(modes: readonly string[]): string[] {
  const isReadOnly = modes.length > 0 && modes.every((mode) => mode === "ReadOnlyMany");
  return [isReadOnly ? "ReadOnlyMany" : "ReadWriteOnce"];
}

function portworxSource(volume: PersistentVolume, { portworxVolume: source }: Spec): Source {
  const { annotations } = volume.metadata ?? {};
  const name = annotations?.["openstorage.io/auth-secret-name"];
  const namespace = annotations?.["openstorage.io/auth-secret-namespace"];
  const secret = { name, namespace };
  const { fsType } = mounted(source);
  return {
    volumeHandle: source?.volumeID ?? "",
    ...given({ fsType }),
    ...(name === undefined || namespace === undefined
      ? {}
      : {
          controllerExpandSecretRef: secret,
          controllerPublishSecretRef: secret,
          nodeExpandSecretRef: secret,
          nodePublishSecretRef: secret,
          nodeStageSecretRef: secret,
        }),
  } as Source; // the names are there when they are given
}
