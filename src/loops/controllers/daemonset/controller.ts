/**
 * DaemonSets: one pod on every node that fits, rolled over when the template changes.
 *
 * In    DaemonSets, Nodes, Pods, ControllerRevisions. Out: Pods (pinned by node affinity; the
 *       scheduler binds them), revisions, status.
 * Safe  no step before the cache shows the last one; an update continues only when there is nothing
 *       else to create or delete; pods that keep failing are retried with a growing delay per node.
 */
import type { ControllerRevision, DaemonSet, Node, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource, watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { claimCached, indexForClaims } from "../ownership/cached.ts";
import { controllerReference, ownerKeys } from "#client/owner.ts";
import { selectorOf } from "../ownership/selectors.ts";
import {
  claimRevisions,
  ensureRevision,
  revisionHashLabel as hashLabel,
  trimRevisions,
} from "../pods/revisions.ts";
import { countCollision } from "./collision.ts";
import { DaemonControl, gvk } from "./daemon-control.ts";
import { eligibility } from "./eligible.ts";
import { daemonStatus } from "./plan.ts";
import { isNodeChanged, nextRoundMs, planRound, revisionsInUse, type Round } from "./round.ts";

export const daemonSetRole: ControllerRole = {
  account: "daemon-set-controller",
  rules: [
    "read | apps,extensions | daemonsets",
    "update | apps,extensions | daemonsets/status",
    "update | apps,extensions | daemonsets/finalizers",
    "list,watch | core | nodes",
    "create,delete,list,patch,watch | core | pods",
    "create | core | pods/binding",
    "create,delete,get,list,patch,update,watch | apps | controllerrevisions",
    "events",
  ],
};

export class DaemonSetController implements ControllerOptions<DaemonSet> {
  readonly name = "daemonset-controller";
  readonly workers = 5;
  readonly ref = refs.daemonsets;
  readonly #affected = new KeySource();
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #sets: Informer<DaemonSet>;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #revisions: Informer<ControllerRevision>;
  readonly #expectations: Expectations<Pod>;
  readonly #control: DaemonControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#sets = deps.informers.informer<DaemonSet>(refs.daemonsets);
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#revisions = deps.informers.informer<ControllerRevision>(refs.controllerrevisions);
    indexForClaims(this.#pods);
    indexForClaims(this.#revisions);
    this.#expectations = new Expectations(this.#pods, deps.clock);
    this.#control = new DaemonControl(deps, this.#expectations);
    const ownersOf = ownerKeys(this.#sets, gvk, isSelected);
    this.sources = [
      watch(this.#pods, ownersOf, { sizeOf: () => this.#nodes.size }),
      this.#affected,
    ];
    this.#sets.addHandler({ delete: (set) => this.#control.forget(set) });
    this.#addNodeHandlers();
  }

  #addNodeHandlers(): void {
    this.#nodes.addHandler({
      add: (node) => this.#wakeSets((set) => eligibility(set, node).shouldRun),
      delete: () => this.#wakeSets(() => true),
      update: (old, node) => {
        if (!isNodeChanged(old, node)) return;
        this.#wakeSets((set) => !jsonEqual(eligibility(set, old), eligibility(set, node)));
      },
    });
  }

  #wakeSets(isAffected: (set: DaemonSet) => boolean): void {
    for (const set of this.#sets.values()) if (isAffected(set)) this.#affected.add(keyOf(set));
  }

  async reconcile({ key, object: set }: ReconcileRequest<DaemonSet>): Promise<ReconcileResult> {
    if (set === undefined) return this.#expectations.forget(key);
    // Its revisions may already be deleted, so no status can be computed.
    if (set.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!this.#expectations.isSatisfied(key)) return unsatisfied;
    if (selectorOf(set).requirements.length === 0) return this.#warnSelector(set);
    const round = await this.#gather(key, set);
    const plan = planRound(round, (pod) => this.#control.waitMs(set, pod));
    const error = await this.#control.carryOut(round, plan);
    await this.#writeStatus(round);
    if (error !== undefined) throw error;
    await trimRevisions(this.#deps.client, set, round.revisions, revisionsInUse(round));
    const requeueAfterMs = nextRoundMs(round, plan.waitMs, this.#deps.clock.nowMs());
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  #warnSelector(set: DaemonSet): void {
    const text = "This daemon set is selecting all pods. A non-empty selector is required.";
    this.#deps.recorder.event(set, "Warning", "SelectingAll", text);
  }

  async #gather(key: string, set: DaemonSet): Promise<Round> {
    const { client, clock } = this.#deps;
    const adopter = this.#adopterOf(set);
    const pods = await claimCached(this.#pods, {
      ...adopter,
      ref: refs.pods,
      matches: (pod) => isSelected(set, pod),
      onWrite: (pod) => this.#expectations.expectWrite(key, pod),
    });
    const revisions = await claimRevisions(this.#revisions, adopter, selectorOf(set));
    const { reference } = adopter;
    const onCollision = (): Promise<never> => countCollision(client, set);
    const deps = { client, reference, hashLabel, onCollision };
    const { revision: newest } = await ensureRevision(deps, set, revisions);
    const hash = newest.metadata?.labels?.[hashLabel] ?? "";
    return { key, set, nodes: this.#nodes.list(), pods, revisions, hash, nowMs: clock.nowMs() };
  }

  #adopterOf(set: DaemonSet) {
    const reference = controllerReference(gvk, set);
    return { client: this.#deps.client, owner: set, ownerRef: refs.daemonsets, reference };
  }

  async #writeStatus(round: Round): Promise<void> {
    const { set } = round;
    const status = daemonStatus(round);
    if (jsonEqual(status, set.status)) return;
    const namespace = set.metadata?.namespace ?? "";
    const next = { ...set, status };
    await this.#deps.client.update(refs.daemonsets, namespace, next, { subresource: "status" });
  }
}

function isSelected(set: DaemonSet, pod: Pod): boolean {
  return labelsMatch(selectorOf(set), pod.metadata?.labels ?? {});
}
