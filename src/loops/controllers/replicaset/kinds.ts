/** ReplicaSet and ReplicationController, which differ in selector, workers and status. */
import type { LabelSelector as LabelSelectorSpec, PodTemplateSpec } from "#api/gen/types.ts";
import {
  selectorFromLabelSelector,
  selectorFromMap,
  type LabelSelector,
} from "#api/selectors/label-selector.ts";
import type { GroupVersionKind, KubeObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import type { Condition } from "#client/conditions.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { memoSelector } from "../ownership/selectors.ts";

/** A ReplicaSet or a ReplicationController. */
export interface ReplicaOwner extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: LabelSelectorSpec | Readonly<Record<string, string>>;
    readonly template?: PodTemplateSpec;
  };
  readonly status?: { readonly replicas?: number; readonly conditions?: readonly Condition[] };
}

export interface ReplicaKind {
  /** Upstream's name of the controller. */
  readonly name: string;
  readonly gvk: GroupVersionKind;
  readonly ref: ResourceRef;
  readonly workers: number;
  readonly selectorOf: (owner: ReplicaOwner) => LabelSelector;
  /** Whether its status has terminatingReplicas. */
  readonly countsTerminating: boolean;
}

export const replicaSetRole: ControllerRole = {
  account: "replicaset-controller",
  rules: [
    "get,list,update,watch | apps,extensions | replicasets",
    "update | apps,extensions | replicasets/status",
    "update | apps,extensions | replicasets/finalizers",
    "create,delete,list,patch,watch | core | pods",
    "events",
  ],
};

export const replicaSetKind: ReplicaKind = {
  name: "replicaset-controller",
  gvk: { group: "apps", version: "v1", kind: "ReplicaSet" },
  ref: refs.replicasets,
  workers: 20,
  selectorOf: (owner) =>
    memoSelector(owner, () =>
      // The kind determines the type of the selector.
      selectorFromLabelSelector((owner.spec?.selector ?? {}) as LabelSelectorSpec),
    ),
  countsTerminating: true,
};

export const replicationControllerRole: ControllerRole = {
  account: "replication-controller",
  rules: [
    "get,list,update,watch | core | replicationcontrollers",
    "update | core | replicationcontrollers/status",
    "update | core | replicationcontrollers/finalizers",
    "create,delete,list,patch,watch | core | pods",
    "events",
  ],
};

export const replicationControllerKind: ReplicaKind = {
  name: "replication-controller",
  gvk: { group: "", version: "v1", kind: "ReplicationController" },
  ref: refs.replicationcontrollers,
  workers: 5,
  selectorOf: (owner) =>
    memoSelector(owner, () =>
      selectorFromMap((owner.spec?.selector ?? {}) as Record<string, string>),
    ),
  countsTerminating: false,
};
