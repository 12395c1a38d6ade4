/**
 * DaemonSets: one pod on every node that fits, rolled over when the template changes.
 *
 * In    DaemonSets, Nodes, Pods, ControllerRevisions. Out: Pods (pinned by node affinity; the
 *       scheduler binds them), revisions, status.
 * Safe  no step before the cache shows the last one; an update goes on only when there is nothing to
 *       make or delete; daemons that keep failing are retried later and later, node by node.
 */
import type { ControllerRevision, DaemonSet, Node, Pod } from "#api/gen/types.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../ownership/adopt.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { orphanIndex, orphanNamespace } from "../ownership/orphans.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { isActive, isReady, availableInMs, podFromTemplate } from "../pods/pod.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import {
  claimRevisions,
  ensureRevision,
  revisionHashLabel,
  trimRevisions,
} from "../pods/revisions.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { slowStart } from "../framework/slow-start.ts";
import { FailedPodBackoff } from "./backoff.ts";
import { eligibility, targetNode, templateFor } from "./eligible.ts";
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
const templateGeneration = "deprecated.daemonset.template.generation";

// long: one closure holds the informers and the expectations that the small functions below share
export function daemonSetController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const sets = informers.informer<DaemonSet>(refs.daemonsets);
  const nodes = informers.informer<Node>(refs.nodes);
  const pods = informers.informer<Pod>(refs.pods);
  const revisions = informers.informer<ControllerRevision>(refs.controllerrevisions);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  pods.addIndex(orphanIndex, orphanNamespace);
  revisions.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  revisions.addIndex(orphanIndex, orphanNamespace);
  const expectations = new Expectations(pods, clock);
  const backoff = new FailedPodBackoff();
  const controller = queueController(deps, { name: "daemonset-controller", workers }, reconcile);
  const { queue } = controller;
  sets.addHandler({
    add: (set) => queue.add(keyOf(set)),
    update: (_old, set) => queue.add(keyOf(set)),
    delete(set) {
      backoff.forget(set.metadata?.uid ?? "");
      queue.add(keyOf(set));
    },
  });
  pods.addHandler({
    add: wake,
    delete: wake,
    update(old, pod) {
      wake(old);
      wake(pod);
    },
  });
  nodes.addHandler({
    add: (node) => wakeSets((set) => eligibility(set, node).shouldRun),
    delete: () => wakeSets(() => true),
    update(old, node) {
      if (!matters(old, node)) return;
      wakeSets((set) => !jsonEqual(eligibility(set, old), eligibility(set, node)));
    },
  });
  return controller;

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined) return addGathered(queue, key, nodes.size);
    if (controllerOf(pod) !== undefined) return;
    for (const set of sets.list(pod.metadata?.namespace))
      if (selects(set, pod)) queue.add(keyOf(set));
  }

  function wakeSets(concerns: (set: DaemonSet) => boolean): void {
    for (const set of sets.values()) if (concerns(set)) queue.add(keyOf(set));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const set = sets.getByKey(key);
    if (set === undefined) return expectations.forget(key);
    // Its revisions may be gone already: nothing can be said of a set on its way out.
    if (set.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!expectations.passed(key)) return unfulfilled;
    if (selectorOf(set).requirements.length === 0) return warnSelector(set);
    const mine = await claimPods(set);
    const known = await claimRevisions(revisions, adopterOf(set), selectorOf(set));
    const reference = controllerReference(gvk, set);
    const deps = { client, reference, hashLabel: revisionHashLabel };
    const revision = await ensureRevision(deps, set, known);
    const hash = revision.metadata?.labels?.[revisionHashLabel] ?? "";
    const input = { set, nodes: nodes.list(), pods: mine, hash, nowMs: clock.nowMs() };
    const step = await act(key, input);
    await writeStatus(set, daemonStatus(input));
    if (step.error !== undefined) throw step.error;
    await trimRevisions(client, set, known, inUse(known, mine, hash));
    return requeue(set, mine, step.waitMs);
  }

  function warnSelector(set: DaemonSet): void {
    const text = "This daemon set is selecting all pods. A non-empty selector is required.";
    recorder.event(set, "Warning", "SelectingAll", text);
  }

  function adopterOf(set: DaemonSet) {
    const reference = controllerReference(gvk, set);
    return { client, owner: set, ownerRef: refs.daemonsets, reference };
  }

  function claimPods(set: DaemonSet): Promise<readonly Pod[]> {
    const matches = (pod: Pod): boolean => selects(set, pod);
    const orphans = pods.byIndex(orphanIndex, set.metadata?.namespace ?? "").filter(matches);
    const owned = pods.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const wrote = (pod: Pod): void => expectations.wrote(keyOf(set), pod);
    return claim({ ...adopterOf(set), ref: refs.pods, matches, wrote }, [...owned, ...orphans]);
  }

  /** Makes and deletes what the nodes want; the update goes on when they want nothing. */
  async function act(key: string, input: DaemonInput): Promise<Step> {
    const plan = planDaemons(input);
    const { due, waitMs } = dueFailed(input.set, plan.failed);
    const busy = [plan.create, plan.remove, plan.succeeded, due].some((list) => list.length > 0);
    const error = busy
      ? await carryOut(key, input, { ...plan, failed: due })
      : await carryOut(key, input, planUpdate(input));
    return { error, waitMs };
  }

  /** Failed pods whose node has rested long enough, and how long until the next has. */
  function dueFailed(set: DaemonSet, failed: readonly Pod[]) {
    const nowMs = clock.monotonicMs();
    const waits = failed.map((pod) => backoff.waitMs(backoffKey(set, pod), nowMs));
    const rest = waits.filter((wait) => wait > 0);
    return {
      due: failed.filter((_pod, at) => waits[at] === 0),
      waitMs: rest.length === 0 ? undefined : Math.min(...rest),
    };
  }

  /** @returns what failed, if anything did. */
  async function carryOut(key: string, input: DaemonInput, plan: DaemonPlan): Promise<unknown> {
    const { set, hash } = input;
    for (const pod of plan.failed) noteFailed(set, pod);
    for (const pod of plan.succeeded) noteSucceeded(set, pod);
    const removals = [...plan.remove, ...plan.failed, ...plan.succeeded].slice(0, burst);
    const create = plan.create.slice(0, burst);
    const made = await slowStart(create.length, (at) =>
      createPod(key, set, hash, create[at] ?? ""),
    );
    const removed = await slowStart(removals.length, (at) => removePod(key, set, removals[at]));
    if (made.error === undefined || isNamespaceGoing(made.error)) return removed.error;
    recorder.event(set, "Warning", "FailedCreate", `Error creating: ${textOf(made.error)}`);
    return made.error;
  }

  function noteFailed(set: DaemonSet, pod: Pod): void {
    backoff.deleted(backoffKey(set, pod), clock.monotonicMs());
    const text = `Found failed daemon pod ${keyOf(pod)} on node ${targetNode(pod)}, will try to kill it`;
    recorder.event(set, "Warning", "FailedDaemonPod", text);
  }

  function noteSucceeded(set: DaemonSet, pod: Pod): void {
    const text = `Found succeeded daemon pod ${keyOf(pod)} on node ${targetNode(pod)}, will try to delete it`;
    recorder.event(set, "Normal", "SucceededDaemonPod", text);
  }

  async function createPod(key: string, set: DaemonSet, hash: string, node: string): Promise<void> {
    const namespace = set.metadata?.namespace ?? "";
    const generation = set.metadata?.annotations?.[templateGeneration];
    const pod = podFromTemplate(templateFor(set.spec?.template ?? {}, node), {
      namespace,
      generateName: `${set.metadata?.name ?? ""}-`,
      owner: controllerReference(gvk, set),
      labels: {
        [revisionHashLabel]: hash,
        ...(generation === undefined ? {} : { "pod-template-generation": generation }),
      },
    });
    const made = await client.create<Pod>(refs.pods, namespace, pod);
    expectations.wrote(key, made);
    recorder.event(set, "Normal", "SuccessfulCreate", `Created pod: ${made.metadata?.name ?? ""}`);
  }

  async function removePod(key: string, set: DaemonSet, pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    expectations.deleting(key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      recorder.event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      expectations.notDeleted(key, pod);
      if (!isGone(error)) throw error;
    }
  }

  async function writeStatus(
    set: DaemonSet,
    status: ReturnType<typeof daemonStatus>,
  ): Promise<void> {
    if (jsonEqual(status, set.status)) return;
    const next = { ...set, status };
    const namespace = set.metadata?.namespace ?? "";
    await client.update<DaemonSet>(refs.daemonsets, namespace, next, { subresource: "status" });
  }

  function requeue(
    set: DaemonSet,
    mine: readonly Pod[],
    waitMs: number | undefined,
  ): ReconcileResult {
    const minReady = set.spec?.minReadySeconds ?? 0;
    const waits = mine
      .filter((pod) => isActive(pod) && isReady(pod))
      .map((pod) => availableInMs(pod, minReady, clock.nowMs()))
      .filter((wait) => wait > 0);
    if (waitMs !== undefined) waits.push(waitMs);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  }
}

/** How a step ended, and when a failed pod may be deleted next. */
interface Step {
  readonly error: unknown;
  readonly waitMs: number | undefined;
}

function backoffKey(set: DaemonSet, pod: Pod): string {
  return `${set.metadata?.uid ?? ""}/${set.metadata?.generation ?? 0}/${targetNode(pod)}`;
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
  return labelsMatch(selectorOf(set), pod.metadata?.labels ?? {});
}

/** Heartbeats change a node every few minutes; only what eligibility looks at matters here. */
function matters(old: Node, node: Node): boolean {
  const view = (n: Node): unknown => [n.metadata?.labels, n.spec?.taints];
  return !jsonEqual(view(old), view(node));
}
