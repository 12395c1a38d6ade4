/**
 * Which Pods keep a node from being removed, and which have to go somewhere else first.
 * After  upstream's simulator/drainability/rules, in its order.
 */
import type { Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import {
  type LabelSelector,
  labelsMatch,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { AutoscalerOptions } from "./options.ts";
import { isDaemon } from "./pending.ts";

const safeAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const safeVolumesAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
const mirrorAnnotation = "kubernetes.io/config.mirror";
const systemNamespace = "kube-system";
/** Kinds of controllers that recreate an evicted Pod. */
const replacing: ReadonlySet<string> = new Set([
  "ReplicationController",
  "ReplicaSet",
  "StatefulSet",
  "Job",
]);

/** Upstream's names of the reasons why a Pod blocks the removal of its node. */
export type Blocker =
  | "NotReplicated"
  | "LocalStorageRequested"
  | "NotSafeToEvictAnnotation"
  | "UnmovableKubeSystemPod"
  | "NotEnoughPdb";

type Verdict =
  | { readonly kind: "stays" }
  | { readonly kind: "moves" }
  | { readonly kind: "blocks"; readonly why: Blocker; readonly info: PodInfo };

const stays: Verdict = { kind: "stays" };
const moves: Verdict = { kind: "moves" };

/** Decides what happens to a Pod when its node is removed. `stays`: the Pod is not evicted, and ends with its node. */
export function verdictOn(info: PodInfo, budgets: Budgets, options: AutoscalerOptions): Verdict {
  const { pod } = info;
  const annotations = pod.metadata?.annotations ?? {};
  if (isMirror(pod) || isDaemon(pod)) return stays;
  if (annotations[safeAnnotation] === "true") return moves;
  const block = (why: Blocker): Verdict => ({ kind: "blocks", why, info });
  if (!isReplaced(pod, options)) return block("NotReplicated");
  const isSystem = pod.metadata?.namespace === systemNamespace;
  if (isSystem && options.skipNodesWithSystemPods && budgets.of(pod).length === 0) {
    return block("UnmovableKubeSystemPod");
  }
  if (annotations[safeAnnotation] === "false") return block("NotSafeToEvictAnnotation");
  if (options.skipNodesWithLocalStorage && hasLocalStorage(pod)) {
    return block("LocalStorageRequested");
  }
  return moves;
}

function isMirror({ metadata }: Pod): boolean {
  return metadata?.annotations?.[mirrorAnnotation] !== undefined;
}

function isReplaced({ metadata }: Pod, options: AutoscalerOptions): boolean {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return false;
  return !options.skipNodesWithCustomControllerPods || replacing.has(owner.kind);
}

function hasLocalStorage({ metadata, spec }: Pod): boolean {
  const safe = (metadata?.annotations?.[safeVolumesAnnotation] ?? "").split(",");
  return (
    spec?.volumes?.some(({ name, hostPath, emptyDir }) => {
      const isMemory = emptyDir?.medium === "Memory";
      const isLocal = hostPath !== undefined || (emptyDir !== undefined && !isMemory);
      return isLocal && !safe.includes(name);
    }) === true
  );
}

interface Budget {
  readonly selector: LabelSelector;
  allowed: number;
}

/** Number of Pods that may still be disrupted, minus the disruptions of this plan. */
export class Budgets {
  readonly #byNamespace = new Map<string, Budget[]>();

  constructor(budgets: readonly PodDisruptionBudget[]) {
    for (const { metadata, spec, status } of budgets) {
      const namespace = metadata?.namespace ?? "";
      const allowed = status?.disruptionsAllowed ?? 0;
      const budget = { selector: selectorFromLabelSelector(spec?.selector), allowed };
      const known = this.#byNamespace.get(namespace);
      if (known === undefined) this.#byNamespace.set(namespace, [budget]);
      else known.push(budget);
    }
  }

  of({ metadata }: Pod): readonly Budget[] {
    const budgets = this.#byNamespace.get(metadata?.namespace ?? "") ?? [];
    return budgets.filter(({ selector }) => labelsMatch(selector, metadata?.labels));
  }

  /** Charges the budgets of all Pods, or of none. @returns the first Pod without budget, if there is one. */
  take(pods: readonly PodInfo[]): PodInfo | undefined {
    const taken: Budget[] = [];
    for (const info of pods) {
      const budgets = this.of(info.pod);
      if (budgets.some(({ allowed }) => allowed <= 0)) {
        for (const budget of taken) budget.allowed++;
        return info;
      }
      for (const budget of budgets) {
        budget.allowed--;
        taken.push(budget);
      }
    }
    return undefined;
  }
}
