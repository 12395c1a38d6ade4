/**
 * Selects the place of a group: any nodes, or one domain of its topology key.
 *
 * Out    the domain that fits most Pods; among those that fit all, the fullest. Upstream adds both as scores of equal
 *        weight; here a domain that takes more Pods always wins.
 * Bounds `trialsMax` domains are tried in one decision, fewer for a large group (`trialsFor`); the next decision
 *        continues where this one ended.
 */
import type { NodeTable } from "../node-table.ts";
import type { PodInfo } from "../pod-info.ts";
import {
  type GangDeps,
  type InTurns,
  isEnough,
  type RefusedMember,
  takeBack,
  type Trial,
  tryMembers,
} from "./decide-gang.ts";
import { type Domain, domainsFor, leastRequests, roomOn } from "./domains.ts";

export interface GangQuestion {
  readonly members: readonly PodInfo[];
  /** Minimum number of members that must be placed. */
  readonly needed: number;
  readonly topologyKey: string | undefined;
  /** Node names of the group's placed Pods. */
  readonly placedOn: readonly string[];
  /** Number of domains to skip: the domains that the last attempts examined. */
  readonly skip: number;
}

type GangDecision =
  /** The placed Pods are assumed and reserved. */
  | { readonly kind: "placed"; readonly trial: Trial }
  /** `placements`: number of domains; 1 without a topology key. */
  | {
      readonly kind: "none";
      readonly refused: readonly RefusedMember[];
      readonly placements: number;
    }
  | { readonly kind: "error"; readonly text: string };

/** Maximum number of domains tried in one decision; each trial makes several decisions of a few µs. */
const trialsMax = 256;
/** Maximum of Pods times domains in one decision: a domain for all but one Pod costs as much as one for all. */
const decisionsMax = 8_000;

/** Returns the maximum number of domains tried in one decision about a group of `members` Pods. */
export function trialsFor(members: number): number {
  return Math.max(1, Math.min(trialsMax, Math.floor(decisionsMax / Math.max(1, members))));
}

export function* placeGang(deps: GangDeps, question: GangQuestion): InTurns<GangDecision> {
  const { topologyKey } = question;
  if (topologyKey !== undefined) return yield* placeInDomain(deps, question, topologyKey);
  const trial = yield* tryMembers(deps, question.members, question.needed);
  if (isEnough(trial, question.needed)) return { kind: "placed", trial };
  takeBack(deps, trial);
  return { kind: "none", refused: trial.refused, placements: 1 };
}

/** Whether `needed` Pods may have room. False: they have none, whatever else they require. One pass over the nodes. */
export function mayHaveRoom(
  { cache: { nodes } }: GangDeps,
  { members, needed }: Pick<GangQuestion, "members" | "needed">,
): boolean {
  const least = leastRequests(members);
  let room = 0;
  for (let i = 0; i < nodes.size && room < needed; i++) {
    room += roomOn(nodes, nodes.live[i] ?? 0, least);
  }
  return room >= needed;
}

function* placeInDomain(
  deps: GangDeps,
  question: GangQuestion,
  key: string,
): InTurns<GangDecision> {
  const required = domainOfPlaced(deps, question, key);
  if (required !== undefined && "text" in required) return { kind: "error", text: required.text };
  const { members, needed } = question;
  const nodesAre = "asTheyStand" as const;
  const asked = { key, members, needed, required: required?.name, nodesAre };
  const { count, domains } = domainsFor(deps.cache.nodes, asked);
  const version = deps.cache.nodes.staticVersion;
  const asTheyAre = domains.map((one) => nodesOf(deps.cache.nodes, key, one, version));
  const found = yield* searchDomains(deps, question, rotated(asTheyAre, question));
  if (found.trial !== undefined) return { kind: "placed", trial: found.trial };
  return { kind: "none", refused: found.refused, placements: count };
}

interface Searched {
  readonly trial: Trial | undefined;
  /** Refused Pods of the first domain. */
  readonly refused: readonly RefusedMember[];
}

function* searchDomains(
  deps: GangDeps,
  { members, needed }: GangQuestion,
  domains: readonly (() => Int32Array)[],
): InTurns<Searched> {
  let best: { readonly domain: () => Int32Array; readonly taken: number } | undefined;
  let refused: readonly RefusedMember[] | undefined;
  for (const domain of domains.slice(0, trialsFor(members.length))) {
    const trial = yield* tryMembers(deps, members, needed, domain);
    const taken = isEnough(trial, needed) ? trial.placements.length : 0;
    refused ??= trial.refused;
    if (taken === members.length) return { trial, refused };
    takeBack(deps, trial);
    if (taken > (best?.taken ?? 0)) best = { domain, taken };
  }
  if (best === undefined) return { trial: undefined, refused: refused ?? [] };
  // The best trial is repeated. Random tie-breaking may place fewer Pods this time where nodes differ much.
  const trial = yield* tryMembers(deps, members, needed, best.domain);
  if (isEnough(trial, needed)) return { trial, refused: trial.refused };
  takeBack(deps, trial);
  return { trial: undefined, refused: trial.refused };
}

/**
 * The domain's nodes of static version `version`, without those that were removed since or have another label now:
 * their slots may belong to other nodes.
 */
export function nodesOf(
  nodes: NodeTable,
  key: string,
  { name, slots: first }: Domain,
  version: number,
): () => Int32Array {
  let known = { version, slots: first };
  const isIn = (slot: number): boolean =>
    nodes.has(slot) && nodes.node(slot).metadata?.labels?.[key] === name;
  return () => {
    const { staticVersion } = nodes;
    if (known.version !== staticVersion) {
      known = { version: staticVersion, slots: known.slots.filter(isIn) };
    }
    return known.slots;
  };
}

function rotated<T>(domains: readonly T[], { members, skip }: GangQuestion): readonly T[] {
  if (domains.length <= trialsFor(members.length)) return domains;
  const from = skip % domains.length;
  return [...domains.slice(from), ...domains.slice(0, from)];
}

/** Returns the domain of the Pods already placed, which the other Pods must use as well. */
export function domainOfPlaced(
  { cache: { nodes } }: GangDeps,
  { placedOn }: Pick<GangQuestion, "placedOn">,
  key: string,
): { readonly name: string } | { readonly text: string } | undefined {
  const prefix = "cannot determine domain for already scheduled pods:";
  let found: string | undefined;
  for (const nodeName of placedOn) {
    const slot = nodes.slotOf(nodeName);
    const name = slot === undefined ? undefined : nodes.node(slot).metadata?.labels?.[key];
    if (name === undefined) return { text: `${prefix} node ${nodeName} has no label ${key}` };
    if (found !== undefined && found !== name) {
      return { text: `${prefix} more than 1 domain found for pod group: ${found}, ${name}` };
    }
    found = name;
  }
  return found === undefined ? undefined : { name: found };
}
