/**
 * Which groups grow, and by how much, for Pods that have no place.
 *
 *   pending ─► fit on nodes that are there or on their way? ─► no: estimate per group ─► expander ─► the group grows,
 *   its nodes count as on their way, and again with what is left
 *
 * Holds  no group above its maximum, no limit of the whole exceeded, no group grows while it rests, and a Pod that fits
 *        on a node that is there or on its way causes none. Nodes that lift a group to its minimum count as on their way.
 */
import { must } from "#base/assert.ts";
import type { Random } from "#platform/random.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Action, Unhelped } from "./action.ts";
import { splitAmongSimilar } from "./balance.ts";
import { type Book, note } from "./book.ts";
import { estimate, settle } from "./estimate.ts";
import { type Choice, choose, unitPrice } from "./expander.ts";
import { Filler } from "./fill.ts";
import type { GroupHealth, Health } from "./group-health.ts";
import { type Kind, kindsOf } from "./kinds.ts";
import type { AutoscalerOptions } from "./options.ts";
import { Room } from "./room.ts";
import type { Snapshot } from "./snapshot.ts";
import { copyName, copyOf, type Template, templateOf } from "./template.ts";
import { Totals } from "./totals.ts";

/** Maximum number of rounds per loop, each of which grows a group. Remaining Pods wait for the next loop. */
const roundsMax = 32;
/** Reasons in upstream's words. */
const maxSizeReason = "max node group size reached";
const backoffReason = "in backoff after failed scale-up";
const limitReason = "max cluster cpu, memory limit reached";

interface ScaleUp {
  readonly actions: readonly Action[];
  readonly unhelped: readonly Unhelped[];
  /** Number of Pods that fit on no existing or upcoming node. */
  readonly unschedulable: number;
  readonly hasReachedNodesTotal: boolean;
  /** Names of nodes with a place for Pods that have no node. */
  readonly needed: ReadonlySet<string>;
}

interface Offer {
  readonly health: GroupHealth;
  readonly template: Template;
  /** Number of nodes by which the group grows in this loop. */
  grown: number;
}

interface Deps {
  readonly snapshot: Snapshot;
  readonly book: Book;
  readonly options: AutoscalerOptions;
  readonly random: Random;
}

/** `closed`: slot of a node that takes no Pods. */
export function planScaleUp(
  deps: Deps,
  health: Health,
  pods: readonly PodInfo[],
  closed: number | undefined,
): ScaleUp {
  const run = new ScaleUpRun(deps, health, { pods, closed });
  try {
    return run.plan();
  } finally {
    run.end();
  }
}

class ScaleUpRun {
  readonly #deps: Deps;
  readonly #offers: readonly Offer[];
  readonly #kinds: readonly Kind[];
  readonly #room: Room;
  readonly #whatIf;
  readonly #totals: Totals;
  readonly #closed: number | undefined;
  readonly #needed = new Set<string>();
  readonly #pods = new Map<Offer, PodInfo[]>();
  /** By kind: reasons why groups did not help, with their counts. */
  readonly #reasons = new Map<Kind, Map<string, number>>();

  constructor(
    deps: Deps,
    health: Health,
    { pods, closed }: { readonly pods: readonly PodInfo[]; readonly closed: number | undefined },
  ) {
    this.#closed = closed;
    const { snapshot, options } = deps;
    const { cluster, daemonSets } = snapshot;
    const { algorithm, namespaces } = cluster;
    const { startupTaints } = options;
    this.#deps = deps;
    this.#room = new Room(
      cluster.cache.nodes,
      pods.map(({ requests }) => requests),
    );
    this.#kinds = kindsOf(pods, { algorithm, namespaces, room: this.#room });
    this.#whatIf = cluster.what();
    const isAsked = pods.length > 0 || options.enforceNodeGroupMinSize;
    this.#offers = (isAsked ? health.groups : []).flatMap((one) => {
      const { template, id } = one.group;
      if (template === undefined) return [];
      const made = templateOf(template, id, { cluster, daemonSets, startupTaints });
      return [{ health: one, template: made, grown: 0 }];
    });
    this.#totals = new Totals(cluster.cache.nodes, options);
    for (const { template, health: one } of this.#offers) this.#totals.add(template, one.upcoming);
  }

  plan(): ScaleUp {
    this.#raiseToMinimum();
    this.#fillUpcoming();
    const unschedulable = this.#left();
    const actions: Action[] = [];
    let rounds = 0;
    while (this.#left() > 0 && rounds++ < roundsMax && this.#round()) {
      // Each round grows one group, or several similar ones.
    }
    for (const offer of this.#offers) if (offer.grown > 0) actions.push(...this.#increase(offer));
    const hasReachedNodesTotal = this.#totals.nodesLeft === 0 && this.#left() > 0;
    const unhelped = this.#unhelped();
    return { actions, unhelped, unschedulable, hasReachedNodesTotal, needed: this.#needed };
  }

  end(): void {
    this.#whatIf.undo();
  }

  /** Places coupled Pods first, because other Pods are only counted and the filters do not see them. */
  #fillUpcoming(): void {
    const { cluster } = this.#deps.snapshot;
    for (const { health, template, grown } of this.#offers) {
      for (let i = 0; i < health.upcoming + grown; i++) {
        const name = copyName(health.group.id, `upcoming-${i}`);
        this.#whatIf.addNode(copyOf(template.node, name));
      }
    }
    const filler = new Filler({
      algorithm: cluster.algorithm,
      nodes: cluster.cache.nodes,
      room: this.#room,
      whatIf: this.#whatIf,
      placed: (slot) => this.#needed.add(cluster.cache.nodes.name(slot)),
    });
    const isOpen = (slot: number): boolean => slot !== this.#closed;
    for (const kind of this.#kinds) if (kind.isCoupled) filler.fill(kind, isOpen);
    for (const kind of this.#kinds) if (!kind.isCoupled) filler.fill(kind, isOpen);
  }

  #left(): number {
    return this.#kinds.reduce((sum, { left }) => sum + left.length, 0);
  }

  #raiseToMinimum(): void {
    const { options, book, snapshot } = this.#deps;
    if (!options.enforceNodeGroupMinSize) return;
    for (const offer of this.#offers) {
      const { id, target, min, isOwn } = offer.health.group;
      const isResting = book.backoffOf(id, snapshot.nowMs) !== undefined;
      if (target >= min || !isOwn || isResting) continue;
      offer.grown = Math.max(0, Math.min(min - target, this.#most(offer)));
      this.#totals.add(offer.template, offer.grown);
    }
  }

  /** @returns whether a group could help. */
  #round(): boolean {
    const choices = this.#offers.flatMap((offer) => this.#choice(offer));
    const { options, random, snapshot } = this.#deps;
    const unit = unitPrice(
      this.#offers.map(({ template, health }) => ({ template, price: health.group.price })),
    );
    const deps = { random, unit, priorities: snapshot.priorities };
    const chosen = choose(options.expanders, choices, deps);
    if (chosen === undefined) return false;
    const offer = must(
      this.#offers.find(({ health }) => health.group === chosen.group),
      "a choice is an offer",
    );
    const { id } = chosen.group;
    const { template } = offer;
    const before = new Map(this.#kinds.map((kind) => [kind, kind.left.slice()]));
    const made = settle(
      this.#estimating(),
      { id, template, most: chosen.estimate.nodes },
      this.#kinds,
    );
    const helped = [...made.helped].flatMap(
      ([kind, count]) => before.get(kind)?.slice(-count) ?? [],
    );
    const shares = splitAmongSimilar(offer, made.nodes, this.#similarTo(offer, choices), (one) =>
      this.#most(one),
    );
    for (const [one, count] of shares) {
      one.grown += count;
      this.#totals.add(one.template, count);
      this.#pods.set(one, [...(this.#pods.get(one) ?? []), ...helped]);
    }
    return made.nodes > 0;
  }

  #choice(offer: Offer): readonly Choice[] {
    const { group } = offer.health;
    const most = this.#most(offer);
    const reason = this.#reasonAgainst(offer, most);
    if (reason !== undefined) {
      for (const kind of this.#kinds)
        if (kind.left.length > 0) this.#note(kind, group.id, [reason]);
      return [];
    }
    const { template } = offer;
    const made = estimate(
      this.#estimating(group.id),
      { id: group.id, template, most },
      this.#kinds,
    );
    return made.pods === 0 ? [] : [{ group, template, estimate: made }];
  }

  #reasonAgainst({ health, grown }: Offer, most: number): string | undefined {
    const { book, snapshot } = this.#deps;
    const { group } = health;
    if (book.backoffOf(group.id, snapshot.nowMs) !== undefined) return backoffReason;
    if (group.target + grown >= group.max) return maxSizeReason;
    return most <= 0 ? limitReason : undefined;
  }

  /** Number of nodes by which the group may still grow in this loop. */
  #most({ health, template, grown }: Offer): number {
    const { options, book, snapshot } = this.#deps;
    const { group } = health;
    const ramp = options.rampPercentPerMinute;
    const lately = book.addedLately(group.id, snapshot.nowMs);
    const rampLeft =
      ramp === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(1, Math.floor(((group.target - lately) * ramp) / 100)) - lately - grown;
    return Math.min(
      group.max - group.target - grown,
      options.maxNodesPerScaleUp - grown,
      rampLeft,
      this.#totals.roomFor(template),
    );
  }

  #similarTo(offer: Offer, choices: readonly Choice[]): readonly Offer[] {
    if (!this.#deps.options.balanceSimilarNodeGroups) return [];
    const helping = new Set(choices.map(({ group }) => group));
    return this.#offers.filter((one) => one !== offer && helping.has(one.health.group));
  }

  #estimating(group?: string) {
    const { cluster } = this.#deps.snapshot;
    const base = { cluster, room: this.#room, whatIf: this.#whatIf };
    if (group === undefined) return base;
    const refused = (kind: Kind, reasons: readonly string[]) => this.#note(kind, group, reasons);
    return { ...base, refused };
  }

  /** Records reasons once per group and kind, regardless of the number of rounds. */
  #note(kind: Kind, group: string, reasons: readonly string[]): void {
    const known = this.#reasons.get(kind) ?? new Map<string, number>();
    this.#reasons.set(kind, known);
    const noted = `\n${group}`;
    if (known.has(noted)) return;
    known.set(noted, 0);
    for (const reason of reasons) known.set(reason, (known.get(reason) ?? 0) + 1);
  }

  #unhelped(): readonly Unhelped[] {
    return this.#kinds.flatMap((kind) => {
      const noted = this.#reasons.get(kind) ?? new Map<string, number>();
      const reasons = new Map([...noted].filter(([, count]) => count > 0));
      return kind.left.map((info) => ({ info, reasons }));
    });
  }

  /** A group of another shard is grown by that shard only. If the shard does not do so for too long, the growth counts as failed. */
  #increase(offer: Offer): readonly Action[] {
    const { book, snapshot, options } = this.#deps;
    const { id, target, max, isOwn } = offer.health.group;
    if (isOwn) {
      const pods = this.#pods.get(offer) ?? [];
      return [{ kind: "increase", group: id, delta: offer.grown, from: target, max, pods }];
    }
    const sinceMs = note(book.foreignSince, id, true, snapshot.nowMs) ?? snapshot.nowMs;
    if (snapshot.nowMs - sinceMs > options.shardPatienceMs) {
      book.foreignSince.delete(id);
      const message = "its shard does not let it grow";
      book.fail(id, { code: "shard", message }, snapshot.nowMs, options);
    }
    return [];
  }
}
