/** Computes what a Deployment writes to its ReplicaSets: new ones, and patches of existing ones. Pure. */
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { controllerReference } from "#client/owner.ts";
import { templateHash } from "../pods/template-hash.ts";
import type { Rollout } from "./plan.ts";
import {
  hashLabel,
  newestAnnotations,
  nextRevision,
  replicaSetName,
  sizeAnnotations,
} from "./revision.ts";
import * as sizes from "./sizes.ts";

/** A part of a ReplicaSet, as a merge patch. */
export interface SetPatch {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly replicas: number } | { readonly minReadySeconds: number | null };
}

export const gvk = { group: "apps", version: "v1", kind: "Deployment" };

export function makeReplicaSet(
  { deployment, olds }: Rollout,
  collisionCount: number | undefined,
): ReplicaSet {
  const template = deployment.spec?.template ?? {};
  const hash = templateHash(template, collisionCount);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const selector = deployment.spec?.selector ?? {};
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: replicaSetName(deployment, hash),
      namespace: deployment.metadata?.namespace ?? "",
      labels,
      annotations: {
        ...newestAnnotations(deployment, {}, nextRevision(olds)),
        ...sizeAnnotationsOf(deployment),
      },
      ownerReferences: [controllerReference(gvk, deployment)],
    },
    spec: {
      replicas: sizes.newReplicaSetSize(deployment, undefined, olds),
      ...(minReadySeconds === 0 ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** A merge patch of annotations and minReadySeconds; undefined: `newest` is up to date. */
export function planRefresh(
  { deployment, olds }: Rollout,
  newest: ReplicaSet,
): {
  readonly annotations: Readonly<Record<string, string>>;
  readonly patch: SetPatch | undefined;
} {
  const current = newest.metadata?.annotations ?? {};
  const annotations = newestAnnotations(deployment, current, nextRevision(olds));
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  const isSame =
    jsonEqual(annotations, current) && (newest.spec?.minReadySeconds ?? 0) === minReadySeconds;
  // As upstream, zero is written as absent.
  const spec = { minReadySeconds: minReadySeconds === 0 ? null : minReadySeconds };
  const patch = isSame ? undefined : { metadata: { annotations }, spec };
  return { annotations, patch };
}

/** A merge patch of the size and its annotations; undefined: the ReplicaSet is up to date. */
export function planScale(
  deployment: Deployment,
  { replicaSet, replicas }: sizes.Scale,
): SetPatch | undefined {
  const annotations = sizeAnnotationsOf(deployment);
  const isAnnotated = Object.entries(annotations).every(
    ([key, value]) => replicaSet.metadata?.annotations?.[key] === value,
  );
  if (isAnnotated && sizes.specReplicas(replicaSet) === replicas) return undefined;
  return { metadata: { annotations }, spec: { replicas } };
}

function sizeAnnotationsOf(deployment: Deployment): Readonly<Record<string, string>> {
  const { replicas, maxSurge } = sizes.boundsOf(deployment);
  return sizeAnnotations(replicas, replicas + maxSurge);
}
