/**
 * What one reconcile of a Deployment does, pure: which step of the rollout is next, and how it sizes
 * the ReplicaSets.
 *
 * A plan has two parts, because the new ReplicaSet must exist before the sizes are decided:
 * `planStep` comes first, then the new ReplicaSet is created or refreshed, then `planScales` follows.
 */
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import * as sizes from "./sizes.ts";

/** What one reconcile knows: the Deployment and its ReplicaSets. */
export interface Rollout {
  readonly key: string;
  readonly deployment: Deployment;
  /** The ReplicaSet of the present template, as cached. */
  readonly newest: ReplicaSet | undefined;
  readonly olds: readonly ReplicaSet[];
  /** Recreate only: some pod of an old ReplicaSet has not finished. */
  readonly hasOldPods: boolean;
  readonly nowMs: number;
}

export type StepName = "none" | "pause" | "scale" | "empty" | "wait" | "recreate" | "roll";

export interface Step {
  readonly name: StepName;
  /** `refresh` updates the new ReplicaSet where it exists, `ensure` also creates it. */
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

/** A pause or a change of spec.replicas comes before the rollout; the next reconcile continues it. */
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

/** `newest` is as written in this reconcile. */
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
