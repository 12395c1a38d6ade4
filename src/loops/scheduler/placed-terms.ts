/**
 * The affinity terms of placed Pods, grouped: their required and preferred terms for a Pod to be placed.
 *
 * Holds  for every group g and slot n: tally.perSlot[n] = Pods on n that have this very term.
 * Cost   finding the groups that concern a Pod: one look-up per label; placed Pods are never walked. There are at most
 *        as many groups as terms on placed Pods; an empty group is removed.
 */
import type { NodeTable } from "./node-table.ts";
import type { PodInfo, Term } from "./pod-info.ts";
import type { NamespaceLabels, Selectable } from "./selection.ts";
import { hintsOf } from "./selection.ts";
import { Tally } from "./tally.ts";

/** `anti`: required anti-affinity. `wish`: preferred term with a weight. `follow`: required affinity, which is scored. */
type TermKind = "anti" | "wish" | "follow";

export interface TermGroup {
  readonly kind: TermKind;
  readonly term: Term;
  /** For `wish`: the score that one Pod with the term adds. */
  readonly weight: number;
  /** Callers must not change it. */
  readonly tally: Tally;
}

interface OwnGroup extends TermGroup {
  readonly key: string;
}

const noHint = "";

export class PlacedTerms {
  readonly #namespaces: NamespaceLabels;
  readonly #nodes: NodeTable;
  readonly #groups = new Map<string, OwnGroup>();
  readonly #byHint = new Map<string, Set<OwnGroup>>();

  constructor(deps: { nodes: NodeTable; namespaces: NamespaceLabels }) {
    this.#nodes = deps.nodes;
    this.#namespaces = deps.namespaces;
  }

  change(info: PodInfo, slot: number, sign: 1 | -1): void {
    for (const term of info.antiAffinity) this.#change("anti", term, 0, slot, sign);
    for (const term of info.preferred) this.#change("wish", term, term.weight, slot, sign);
    for (const term of info.affinity) this.#change("follow", term, 0, slot, sign);
  }

  /** Returns the groups whose term selects this Pod. */
  concerning(pod: Selectable): readonly TermGroup[] {
    if (this.#groups.size === 0) return [];
    const found: TermGroup[] = [];
    for (const hint of [noHint, ...hintsOf(pod)]) {
      for (const group of this.#byHint.get(hint) ?? []) {
        if (group.term.selection.matches(pod, this.#namespaces)) found.push(group);
      }
    }
    return found;
  }

  #change(kind: TermKind, term: Term, weight: number, slot: number, sign: 1 | -1): void {
    const key = `${kind}|${weight}|${term.topologyKey}|${term.selection.key}`;
    const group =
      this.#groups.get(key) ??
      this.#add({ key, kind, term, weight, tally: new Tally(this.#nodes) });
    group.tally.add(slot, sign);
    if (group.tally.perSlot.size === 0) this.#drop(group);
  }

  #add(group: OwnGroup): OwnGroup {
    this.#groups.set(group.key, group);
    const hint = group.term.selection.hint ?? noHint;
    const siblings = this.#byHint.get(hint);
    if (siblings === undefined) this.#byHint.set(hint, new Set([group]));
    else siblings.add(group);
    return group;
  }

  #drop(group: OwnGroup): void {
    this.#groups.delete(group.key);
    const hint = group.term.selection.hint ?? noHint;
    const siblings = this.#byHint.get(hint);
    siblings?.delete(group);
    if (siblings?.size === 0) this.#byHint.delete(hint);
  }
}
