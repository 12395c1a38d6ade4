/** Volumes, claims, storage classes and CSI objects. */
import type {
  CSIDriver,
  CSINode,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from "../gen/types.ts";
import type { KubeObject } from "../object.ts";
import { quantityCell } from "./config.ts";
import {
  age,
  ageColumn,
  boolean,
  column,
  integer,
  nameColumn,
  nameOf,
  printer,
  text,
  wideText,
} from "./printer.ts";
import type { Printer } from "./printer.ts";

const modeNames: readonly (readonly [string, string])[] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

function accessModes(modes: readonly string[] | undefined): string {
  const held = new Set(modes);
  return modeNames
    .filter(([mode]) => held.has(mode))
    .map(([, short]) => short)
    .join(",");
}

/** The storage class: the beta annotation takes precedence over the field that replaced it. */
function storageClassOf(object: KubeObject, field: string | undefined): string {
  return object.metadata?.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? field ?? "";
}

function phaseOf(object: KubeObject, phase: string | undefined): string {
  return object.metadata?.deletionTimestamp === undefined ? (phase ?? "") : "Terminating";
}

export const persistentVolumes: Printer = printer<PersistentVolume>(
  [
    nameColumn,
    text("Capacity", "The size of the volume."),
    text("Access Modes", "How the volume can be mounted."),
    text("Reclaim Policy", "What happens to the volume when its claim is gone."),
    text("Status", "Whether the volume is bound."),
    text("Claim", "The claim the volume is bound to."),
    text("StorageClass", "The storage class of the volume."),
    text("VolumeAttributesClass", "The volume attributes class of the volume."),
    text("Reason", "Why the volume is in its state."),
    ageColumn,
    wideText("VolumeMode", "Whether the volume holds a filesystem or is a block device."),
  ],
  ({ spec, status, ...object }, nowMs) => {
    const claim = spec?.claimRef;
    return [
      nameOf(object),
      quantityCell(spec?.capacity?.["storage"]),
      accessModes(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? "",
      phaseOf(object, status?.phase),
      claim === undefined ? "" : `${claim.namespace ?? ""}/${claim.name ?? ""}`,
      storageClassOf(object, spec?.storageClassName),
      spec?.volumeAttributesClassName ?? "<unset>",
      status?.reason ?? "",
      age(object, nowMs),
      spec?.volumeMode ?? "<unset>",
    ];
  },
);

export const persistentVolumeClaims: Printer = printer<PersistentVolumeClaim>(
  [
    nameColumn,
    text("Status", "Whether the claim is bound."),
    text("Volume", "The volume the claim is bound to."),
    text("Capacity", "The size of that volume."),
    text("Access Modes", "How that volume can be mounted."),
    text("StorageClass", "The storage class of the claim."),
    text("VolumeAttributesClass", "The volume attributes class of the claim."),
    ageColumn,
    wideText("VolumeMode", "Whether the volume holds a filesystem or is a block device."),
  ],
  ({ spec, status, ...object }, nowMs) => {
    const volume = spec?.volumeName ?? "";
    return [
      nameOf(object),
      phaseOf(object, status?.phase),
      volume,
      volume === "" ? "" : quantityCell(status?.capacity?.["storage"]),
      volume === "" ? "" : accessModes(status?.accessModes),
      storageClassOf(object, spec?.storageClassName),
      spec?.volumeAttributesClassName ?? "<unset>",
      age(object, nowMs),
      spec?.volumeMode ?? "<unset>",
    ];
  },
);

function isMarkedDefault(object: KubeObject, ...annotations: readonly string[]): string {
  const held = object.metadata?.annotations ?? {};
  const isDefault = annotations.some((name) => held[name] === "true");
  return isDefault ? `${nameOf(object)} (default)` : nameOf(object);
}

export const storageClasses: Printer = printer<StorageClass>(
  [
    nameColumn,
    text("Provisioner", "Who makes the volumes."),
    text("ReclaimPolicy", "What happens to volumes when their claims are gone."),
    text("VolumeBindingMode", "When volumes are made and bound."),
    text("AllowVolumeExpansion", "Whether volumes can grow."),
    ageColumn,
  ],
  (object, nowMs) => [
    isMarkedDefault(
      object,
      "storageclass.kubernetes.io/is-default-class",
      "storageclass.beta.kubernetes.io/is-default-class",
    ),
    object.provisioner,
    object.reclaimPolicy ?? "Delete",
    object.volumeBindingMode ?? "Immediate",
    object.allowVolumeExpansion ?? false,
    age(object, nowMs),
  ],
);

export const volumeAttributesClasses: Printer = printer<VolumeAttributesClass>(
  [nameColumn, text("DriverName", "The CSI driver the class is for."), ageColumn],
  (object, nowMs) => [
    isMarkedDefault(object, "volumeattributesclass.alpha.kubernetes.io/is-default-class"),
    object.driverName,
    age(object, nowMs),
  ],
);

export const volumeAttachments: Printer = printer<VolumeAttachment>(
  [
    nameColumn,
    column("Attacher", "string", "The CSI driver that attaches the volume.", { format: "name" }),
    text("PV", "The volume that is attached."),
    text("Node", "The node it is attached to."),
    boolean("Attached", "Whether it is attached now."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec.attacher,
    object.spec.source.persistentVolumeName ?? "",
    object.spec.nodeName,
    object.status?.attached ?? false,
    age(object, nowMs),
  ],
);

export const csiNodes: Printer = printer<CSINode>(
  [nameColumn, integer("Drivers", "How many CSI drivers the node has."), ageColumn],
  (object, nowMs) => [nameOf(object), object.spec.drivers.length, age(object, nowMs)],
);

export const csiDrivers: Printer = printer<CSIDriver>(
  [
    nameColumn,
    boolean("AttachRequired", "Whether volumes must be attached before they are mounted."),
    boolean("PodInfoOnMount", "Whether the driver is told which pod it mounts for."),
    boolean("StorageCapacity", "Whether the scheduler asks the driver for room."),
    text("TokenRequests", "The audiences of the tokens the driver gets."),
    boolean("RequiresRepublish", "Whether mounts are renewed from time to time."),
    text("Modes", "Which kinds of volumes the driver has."),
    ageColumn,
  ],
  ({ spec, ...object }, nowMs) => [
    nameOf(object),
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    spec.tokenRequests?.map((request) => request.audience).join(",") ?? "<unset>",
    spec.requiresRepublish ?? false,
    (spec.volumeLifecycleModes ?? []).join(",") || "<none>",
    age(object, nowMs),
  ],
);
