/**
 * Plans one reconcile of a Deployment, pure: the next step of the rollout, and the sizes of the ReplicaSets.
 *
 * A plan has two parts, because the new ReplicaSet must exist before the sizes are decided:
 * `planStep` comes first, then the new ReplicaSet is created or refreshed, then `planScales` follows.
 */
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import * as sizes from "./sizes.ts";

/** The input of one reconcile: the Deployment and its ReplicaSets. */
export interface Rollout {
  readonly key: string;
  readonly deployment: Deployment;
  /** The cached ReplicaSet of the current template. */
  readonly newest: ReplicaSet | undefined;
  readonly olds: readonly ReplicaSet[];
  /** For Recreate: whether a pod of an old ReplicaSet is unfinished. */
  readonly hasOldPods: boolean;
  readonly nowMs: number;
}

export type StepName = "none" | "pause" | "scale" | "empty" | "wait" | "recreate" | "roll";

export interface Step {
  readonly name: StepName;
  /** `refresh` updates an existing new ReplicaSet; `ensure` also creates it. */
  readonly newest: "leave" | "refresh" | "ensure";
  readonly isRolling: boolean;
  readonly cleanUp: "never" | "always" | "whenComplete";
}

const steps: Readonly<Record<StepName, Omit<Step, "name">>> = {
  none: { newest: "leave", isRolling: false, cleanUp: "never" },
  pause: { newest: "refresh", isRolling: false, cleanUp: "always" },
  scale: { newest: "refresh", isRolling: false, cleanUp: "never" },
  empty: { newest: "leave", isRolling: true, cleanUp: "whenComplete" },
  wait: { newest: "leave", isRolling: true, cleanUp: "whenComplete" },
  recreate: { newest: "ensure", isRolling: true, cleanUp: "whenComplete" },
  roll: { newest: "ensure", isRolling: true, cleanUp: "whenComplete" },
};

export function planStep(rollout: Rollout): Step {
  const name = chooseStep(rollout);
  return { name, ...steps[name] };
}

/** A pause or a change of spec.replicas is handled before the rollout, which the next reconcile continues. */
function chooseStep({ deployment, newest, olds, hasOldPods }: Rollout): StepName {
  if (deployment.metadata?.deletionTimestamp !== undefined) return "none";
  if (deployment.spec?.paused === true) return "pause";
  if (sizes.isScalingEvent(deployment, withNewest(olds, newest))) return "scale";
  if (!isRecreate(deployment)) return "roll";
  if (olds.some((rs) => sizes.specReplicas(rs) > 0)) return "empty";
  return hasOldPods ? "wait" : "recreate";
}

export function isRecreate(deployment: Deployment | undefined): boolean {
  return deployment?.spec?.strategy?.type === "Recreate";
}

export function withNewest(
  olds: readonly ReplicaSet[],
  newest: ReplicaSet | undefined,
): readonly ReplicaSet[] {
  return newest === undefined ? olds : [...olds, newest];
}

/** `newest`: as written by this reconcile. */
export function planScales(
  { deployment, olds }: Rollout,
  name: StepName,
  newest: ReplicaSet | undefined,
): readonly sizes.Scale[] {
  switch (name) {
    case "none":
    case "wait":
      return [];
    case "pause":
    case "scale":
      return sizes.scaleProportionally(deployment, newest, olds);
    case "empty":
      return planEmpty(olds);
    case "recreate":
      return scaleNewest(newest, deployment.spec?.replicas ?? 1);
    case "roll":
      return planRoll(deployment, newest, olds);
    default:
      return name satisfies never;
  }
}

function planEmpty(olds: readonly ReplicaSet[]): readonly sizes.Scale[] {
  const running = olds.filter((rs) => sizes.specReplicas(rs) > 0);
  return running.map((replicaSet) => ({ replicaSet, replicas: 0 }));
}

function scaleNewest(newest: ReplicaSet | undefined, replicas: number): readonly sizes.Scale[] {
  return newest === undefined ? [] : [{ replicaSet: newest, replicas }];
}

/** The new ReplicaSet is scaled first; the old ones shrink in a later reconcile. */
function planRoll(
  deployment: Deployment,
  newest: ReplicaSet | undefined,
  olds: readonly ReplicaSet[],
): readonly sizes.Scale[] {
  const replicas = sizes.newReplicaSetSize(deployment, newest, olds);
  if (newest !== undefined && sizes.specReplicas(newest) !== replicas)
    return scaleNewest(newest, replicas);
  return sizes.shrinkOld(deployment, newest, olds);
}
