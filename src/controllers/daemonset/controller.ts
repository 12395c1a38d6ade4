/**
 * DaemonSets: one pod on every node that fits, rolled over when the template changes.
 *
 * In    DaemonSets, Nodes, Pods, ControllerRevisions. Out: Pods (pinned by node affinity; the
 *       scheduler binds them), revisions, status.
 * Safe  no step before the cache shows the last one; a daemon that keeps failing is retried with the
 *       queue's backoff.
 */
import type { ControllerRevision, DaemonSet, Node, Pod } from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { commonIndexes, keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../shared/adopt.ts";
import { Barrier } from "../shared/barrier.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../shared/owner.ts";
import { isActive, isReady, availableInMs, podFromTemplate } from "../shared/pod.ts";
import { refs } from "../shared/refs.ts";
import { ensureRevision, revisionHashLabel, trimRevisions } from "../shared/revisions.ts";
import { slowStart } from "../shared/slow-start.ts";
import { templateFor } from "./eligible.ts";
import {
  daemonStatus,
  planDaemons,
  planUpdate,
  type DaemonInput,
  type DaemonPlan,
} from "./plan.ts";

const gvk = { group: "apps", version: "v1", kind: "DaemonSet" };
const workers = 5;
/** Upstream's BurstReplicas. */
const burst = 250;

// long: one closure holds the informers and the barrier that the small functions below share
export function daemonSetController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const sets = informers.informer<DaemonSet>(refs.daemonsets);
  const nodes = informers.informer<Node>(refs.nodes);
  const pods = informers.informer<Pod>(refs.pods);
  const revisions = informers.informer<ControllerRevision>(refs.controllerrevisions);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  revisions.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const barrier = new Barrier(pods, clock);
  const controller = queueController(deps, { name: "daemonset-controller", workers }, reconcile);
  const { queue } = controller;
  sets.addHandler({
    add: (set) => queue.add(keyOf(set)),
    update: (_old, set) => queue.add(keyOf(set)),
    delete: (set) => queue.add(keyOf(set)),
  });
  pods.addHandler({ add: wake, delete: wake, update: (old, pod) => void (wake(old), wake(pod)) });
  nodes.addHandler({
    add: wakeAll,
    delete: wakeAll,
    update: (old, node) => void (matters(old, node) && wakeAll()),
  });
  return controller;

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined) return queue.add(key);
    if (controllerOf(pod) !== undefined) return;
    for (const set of sets.list(pod.metadata?.namespace))
      if (selects(set, pod)) queue.add(keyOf(set));
  }

  function wakeAll(): void {
    for (const set of sets.values()) queue.add(keyOf(set));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const set = sets.getByKey(key);
    if (set === undefined) return barrier.forget(key);
    if (set.metadata?.deletionTimestamp !== undefined || !barrier.passed(key)) return undefined;
    const mine = await claimPods(set);
    const known = revisions.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const revision = await ensureRevision(revisionDeps(set), set, known);
    const hash = revision.metadata?.labels?.[revisionHashLabel] ?? "";
    const input: DaemonInput = { set, nodes: nodes.list(), pods: mine, hash, nowMs: clock.nowMs() };
    await act(key, input, planDaemons(input));
    if (barrier.passed(key)) await act(key, input, planUpdate(input));
    await writeStatus(set, daemonStatus(input));
    await trimRevisions(client, set, known, inUse(known, mine, hash));
    return requeue(set, mine);
  }

  function revisionDeps(set: DaemonSet) {
    return { client, reference: controllerReference(gvk, set), hashLabel: revisionHashLabel };
  }

  function claimPods(set: DaemonSet): Promise<readonly Pod[]> {
    const matches = (pod: Pod): boolean => selects(set, pod);
    const orphans = pods
      .list(set.metadata?.namespace)
      .filter((pod) => controllerOf(pod) === undefined && matches(pod));
    const owned = pods.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const reference = controllerReference(gvk, set);
    const wrote = (pod: Pod): void => barrier.wrote(keyOf(set), pod);
    const ownerRef = refs.daemonsets;
    const adopter = { client, ref: refs.pods, owner: set, ownerRef, reference, matches, wrote };
    return claim(adopter, [...owned, ...orphans]);
  }

  async function act(key: string, input: DaemonInput, plan: DaemonPlan): Promise<void> {
    const { set, hash } = input;
    const removals = plan.remove.slice(0, burst);
    await Promise.all(removals.map((pod) => removePod(key, set, pod, plan.failed.includes(pod))));
    const create = plan.create.slice(0, burst);
    const { error } = await slowStart(create.length, (at) =>
      createPod(key, set, hash, create[at] ?? ""),
    );
    if (error !== undefined) {
      recorder.event(
        set,
        "Warning",
        "FailedCreate",
        `Error creating: ${error instanceof Error ? error.message : ""}`,
      );
      throw error;
    }
    // Pods that ended by themselves are made anew, later each time: the next reconcile finds them gone.
    if (plan.failed.length > 0)
      throw new Error(`deleted ${plan.failed.length} failed daemon pods of ${key}`);
  }

  async function createPod(key: string, set: DaemonSet, hash: string, node: string): Promise<void> {
    const namespace = set.metadata?.namespace ?? "";
    const pod = podFromTemplate(templateFor(set.spec?.template ?? {}, node), {
      namespace,
      generateName: `${set.metadata?.name ?? ""}-`,
      owner: controllerReference(gvk, set),
      labels: {
        [revisionHashLabel]: hash,
        "pod-template-generation":
          set.metadata?.annotations?.["deprecated.daemonset.template.generation"] ?? "1",
      },
    });
    const made = await client.create<Pod>(refs.pods, namespace, pod);
    barrier.wrote(key, made);
    recorder.event(set, "Normal", "SuccessfulCreate", `Created pod: ${made.metadata?.name ?? ""}`);
  }

  async function removePod(key: string, set: DaemonSet, pod: Pod, failed: boolean): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    if (failed) {
      const text = `Found failed daemon pod ${namespace}/${name} on node ${pod.spec?.nodeName ?? ""}, will try to kill it`;
      recorder.event(set, "Warning", "FailedDaemonPod", text);
    }
    barrier.deleting(key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      recorder.event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      barrier.notDeleted(key, pod);
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
  }

  async function writeStatus(
    set: DaemonSet,
    counted: ReturnType<typeof daemonStatus>,
  ): Promise<void> {
    const kept = set.status?.conditions === undefined ? {} : { conditions: set.status.conditions };
    const status = { ...counted, ...kept };
    if (jsonEqual(status, set.status)) return;
    const namespace = set.metadata?.namespace ?? "";
    await client.update<DaemonSet>(
      refs.daemonsets,
      namespace,
      { ...set, status },
      { subresource: "status" },
    );
  }

  function requeue(set: DaemonSet, mine: readonly Pod[]): ReconcileResult {
    const minReady = set.spec?.minReadySeconds ?? 0;
    const waits = mine
      .filter((pod) => isActive(pod) && isReady(pod))
      .map((pod) => availableInMs(pod, minReady, clock.nowMs()))
      .filter((wait) => wait > 0);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  }
}

function inUse(
  known: readonly ControllerRevision[],
  pods: readonly Pod[],
  hash: string,
): ReadonlySet<string> {
  const hashes = new Set([
    hash,
    ...pods.map((pod) => pod.metadata?.labels?.[revisionHashLabel] ?? ""),
  ]);
  const used = known.filter((revision) =>
    hashes.has(revision.metadata?.labels?.[revisionHashLabel] ?? ""),
  );
  return new Set(used.map((revision) => revision.metadata?.name ?? ""));
}

function selects(set: DaemonSet, pod: Pod): boolean {
  const selector = selectorFromLabelSelector(set.spec?.selector);
  return selector.requirements.length > 0 && labelsMatch(selector, pod.metadata?.labels ?? {});
}

/** Heartbeats change a node every few minutes; only labels, taints and cordons matter here. */
function matters(old: Node, node: Node): boolean {
  const view = (n: Node): unknown => [n.metadata?.labels, n.spec?.taints, n.spec?.unschedulable];
  return !jsonEqual(view(old), view(node));
}
