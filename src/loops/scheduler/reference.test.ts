/**
 * Compares the incremental scheduler with a slow and simple oracle (`testing/reference-*.ts`), for random clusters and
 * random histories of Pods, nodes and namespaces. Each node's verdict and total score must equal those of a full walk.
 * The decision must be one of the best. Preemption must take the victims that the oracle finds by trying one after
 * another.
 *
 * More seeds by hand: REFERENCE_SEEDS=5000 node --test src/loops/scheduler/reference.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "./cache.ts";
import { defaultPlugins } from "./default-plugins.ts";
import { Nominations } from "./nominations.ts";
import { podInfo, type PodInfo } from "./pod-info.ts";
import { findPreemptions } from "./preemption.ts";
import { preemptionLimits } from "./preemption-limits.ts";
import { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { noVolumes } from "./testing.ts";
import {
  changedNode,
  namespaces,
  once,
  pick,
  randomNode,
  randomPod,
} from "./testing/random-cluster.ts";
import { canTake } from "./testing/reference-filters.ts";
import { labelsOf, podsOn, selectorTakes, type World } from "./testing/reference-selectors.ts";
import { totals } from "./testing/reference-scores.ts";

const nodesMax = 8;
const stepsPerSeed = 60;
const seeds = Number(process.env["REFERENCE_SEEDS"] ?? 40);

class Run {
  readonly #seed: number;
  readonly #random: FakeRandom;
  readonly #world: World = { nodes: [], placed: new Map(), namespaces: new Map() };
  readonly #cache: Cache;
  readonly #decider: ScheduleAlgorithm;
  readonly #budgets: PodDisruptionBudget[];
  #at = "";

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new FakeRandom(seed);
    const labelsOfNamespace = (name: string) => this.#world.namespaces.get(name);
    this.#cache = new Cache({ namespaces: labelsOfNamespace });
    this.#decider = new ScheduleAlgorithm({
      cache: this.#cache,
      random: this.#random,
      namespaces: labelsOfNamespace,
      volumes: noVolumes,
      nominations: new Nominations(),
      plugins: defaultPlugins,
    });
    this.#budgets = ["x", "y"].map((app) => ({
      metadata: { name: app, namespace: pick(this.#random, namespaces) },
      spec: { selector: { matchLabels: { app } } },
      status: { disruptionsAllowed: this.#random.below(2) },
    }));
    for (let i = 0; i < nodesMax; i++) this.#setNode(randomNode(this.#random, `n${i}`));
  }

  go(): void {
    for (let step = 0; step < stepsPerSeed; step++) {
      this.#at = `seed ${this.#seed} step ${step}`;
      if (once(this.#random, 4)) this.#change(step);
      else this.#schedule(randomPod(this.#random, step));
    }
  }

  #setNode(node: Node): void {
    const { nodes } = this.#world;
    const at = nodes.findIndex(({ metadata }) => metadata?.name === node.metadata?.name);
    if (at < 0) nodes.push(node);
    else nodes[at] = node;
    this.#cache.setNode(node);
  }

  #change(step: number): void {
    const { namespaces: byName, nodes, placed } = this.#world;
    const random = this.#random;
    const name = `n${random.below(nodesMax)}`;
    const known = nodes.findIndex(({ metadata }) => metadata?.name === name);
    const [uid, pod] = [...placed][random.below(Math.max(1, placed.size))] ?? [];
    switch (random.below(7)) {
      case 0:
        this.#cache.deleteNode(name);
        if (known >= 0) nodes.splice(known, 1);
        return;
      case 1:
      case 2: {
        const node = nodes[known];
        return this.#setNode(
          node === undefined ? randomNode(random, name) : changedNode(random, node),
        );
      }
      case 3:
        byName.set(pick(random, namespaces), once(random, 2) ? { team: "t" } : { team: "u" });
        this.#cache.counts.forgetNamespaceSelections();
        this.#cache.loosened++;
        return;
      case 4:
        if (uid === undefined) return;
        placed.delete(uid);
        return this.#cache.removePod(uid);
      case 5:
        return pod === undefined ? undefined : this.#changePod(pod);
      default:
        // Another scheduler's Pod, fits or not, on a node that may be unknown.
        return this.#put(randomPod(random, 1_000 + step), name);
    }
  }

  /** Its labels change, or it begins to go. */
  #changePod(pod: Pod): void {
    const labels = { ...labelsOf(pod), app: pick(this.#random, ["x", "y", "z"]) };
    const more = once(this.#random, 2) ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : { labels };
    this.#put({ ...pod, metadata: { ...pod.metadata, ...more } }, pod.spec?.nodeName ?? "");
  }

  #put(pod: Pod, nodeName: string): void {
    const placed = { ...pod, spec: { containers: [], ...pod.spec, nodeName } };
    const info = podInfo(placed);
    this.#cache.confirm(info, nodeName);
    this.#world.placed.set(info.uid, placed);
  }

  #schedule(pod: Pod): void {
    const info = podInfo(pod);
    const { nodes } = this.#world;
    const feasible = nodes.filter((node) => canTake(this.#world, pod, node));
    for (const node of nodes) {
      const passes = this.#decider.passes(info, this.#slotOf(node));
      assert.equal(passes, feasible.includes(node), `${this.#at} node ${nameOf(node)}`);
    }
    if (once(this.#random, 3)) this.#checkTotals(pod, info, feasible);
    const decision = this.#decider.decide(info);
    assert.equal(decision.kind === "node", feasible.length > 0, this.#at);
    if (decision.kind === "none") return this.#checkPreemption(pod, info, decision.slots);
    const best = bestOf(totals(this.#world, pod, feasible));
    assert.ok(
      best.includes(decision.nodeName),
      `${this.#at}: ${decision.nodeName} of ${best.join()}`,
    );
    this.#cache.assume(info, decision.nodeName);
    const spec = { containers: [], ...pod.spec, nodeName: decision.nodeName };
    this.#world.placed.set(info.uid, { ...pod, spec });
  }

  #slotOf(node: Node): number {
    return this.#cache.nodes.slotOf(nameOf(node)) ?? -1;
  }

  /** Differences between nodes are what counts: what a plugin adds to all of them does not. */
  #checkTotals(pod: Pod, info: PodInfo, feasible: readonly Node[]): void {
    const expected = totals(this.#world, pod, feasible);
    const { parts } = this.#decider.examine(info);
    const [first] = feasible;
    if (first === undefined) return;
    const actual = (node: Node): number =>
      [...parts.values()].reduce((sum, scores) => sum + (scores[this.#slotOf(node)] ?? 0), 0);
    const offset = actual(first) - (expected.get(nameOf(first)) ?? 0);
    for (const node of feasible) {
      const total = (expected.get(nameOf(node)) ?? 0) + offset;
      assert.equal(actual(node), total, `${this.#at}: total of ${nameOf(node)}`);
    }
  }

  #checkPreemption(pod: Pod, info: PodInfo, slots: readonly number[]): void {
    const [cache, decider] = [this.#cache, this.#decider];
    const budgets = (namespace: string) =>
      this.#budgets.filter(({ metadata }) => metadata?.namespace === namespace);
    const deps = { cache, decider, budgets, limits: preemptionLimits };
    const { candidates } = findPreemptions(deps, info, slots);
    const expected = this.#world.nodes
      .filter((node) => slots.includes(this.#slotOf(node)))
      .flatMap((node) => this.#candidateOn(pod, node) ?? []);
    const shown = (found: readonly Candidate[]): string[] =>
      found.map(({ nodeName, victims }) => `${nodeName}: ${victims.join()}`).toSorted();
    const actual = candidates.map(({ nodeName, victims }) => {
      return { nodeName, victims: victims.map(({ uid }) => uid), rank: [] };
    });
    assert.deepEqual(shown(actual), shown(expected), `${this.#at}: victims`);
    const [chosen] = actual;
    const best = expected.toSorted(compareRanks)[0];
    const rank = expected.find(({ nodeName }) => nodeName === chosen?.nodeName)?.rank;
    assert.deepEqual(rank, best?.rank, `${this.#at}: the node that hurts least`);
  }

  /** All Pods of lower priority go; then each is tried back, those that a budget protects first. */
  #candidateOn(pod: Pod, node: Node): Candidate | undefined {
    const priorityOf = ({ spec }: Pod): number => spec?.priority ?? 0;
    const lower = podsOn(this.#world, node).filter((one) => priorityOf(one) < priorityOf(pod));
    lower.sort((a, b) => priorityOf(b) - priorityOf(a) || (startOf(a) < startOf(b) ? -1 : 1));
    const without = (gone: ReadonlySet<Pod>): World => {
      const left = [...this.#world.placed].filter(([, one]) => !gone.has(one));
      return { ...this.#world, placed: new Map(left) };
    };
    const gone = new Set(lower);
    if (lower.length === 0 || !canTake(without(gone), pod, node)) return undefined;
    const breaking = new Set(this.#breaking(lower));
    for (const one of [...breaking, ...lower.filter((each) => !breaking.has(each))]) {
      gone.delete(one);
      if (!canTake(without(gone), pod, node)) gone.add(one);
    }
    const victims = lower.filter((one) => gone.has(one));
    if (victims.length === 0) return undefined;
    const most = Math.max(...victims.map(priorityOf));
    const starts = victims.filter((one) => priorityOf(one) === most).map(startOf);
    const rank = [
      victims.filter((one) => breaking.has(one)).length,
      most,
      victims.reduce((sum, one) => sum + priorityOf(one) + 2 ** 31, 0),
      victims.length,
      -Math.min(...starts.map((start) => Date.parse(start))),
    ];
    return { nodeName: nameOf(node), victims: victims.map(uidOf), rank };
  }

  /** Of Pods in the order of importance, those whose going breaks a budget. */
  #breaking(pods: readonly Pod[]): Pod[] {
    const left = new Map(this.#budgets.map((one) => [one, one.status?.disruptionsAllowed ?? 0]));
    return pods.filter((pod) => {
      const own = this.#budgets.filter(
        ({ metadata, spec }) =>
          metadata?.namespace === pod.metadata?.namespace &&
          selectorTakes(spec?.selector, labelsOf(pod)),
      );
      for (const one of own) left.set(one, (left.get(one) ?? 0) - 1);
      return own.some((one) => (left.get(one) ?? 0) < 0);
    });
  }
}

interface Candidate {
  readonly nodeName: string;
  /** Uids, most important first. */
  readonly victims: readonly string[];
  /** Lowest hurts least, first number first. */
  readonly rank: readonly number[];
}

function compareRanks(a: Candidate, b: Candidate): number {
  const at = a.rank.findIndex((value, i) => value !== b.rank[i]);
  return at < 0 ? 0 : (a.rank[at] ?? 0) - (b.rank[at] ?? 0);
}

function nameOf({ metadata }: Node): string {
  return metadata?.name ?? "";
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? "";
}

function startOf({ status }: Pod): string {
  return status?.startTime ?? "";
}

function bestOf(scores: ReadonlyMap<string, number>): readonly string[] {
  const most = Math.max(...scores.values());
  return [...scores].filter(([, score]) => score === most).map(([name]) => name);
}

test("verdicts, scores, decisions and victims are those of walking everything, for any history", () => {
  for (let seed = 1; seed <= seeds; seed++) new Run(seed).go();
  // A score of affinity that is one less when it is divided before it is multiplied.
  new Run(112).go();
});
