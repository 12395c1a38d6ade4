/**
 * Failures of nodes over time: each for some nodes, from a time on, for a while, perhaps again and again.
 *
 * Pure: `failureAt` says what is wrong with a node after so long, `nextChangeMs` when that changes at the earliest.
 */
import type { Failure } from "./failure.ts";

export interface ScheduledFailure {
  readonly failure: Failure;
  readonly nodes: NodeChoice;
  /** Since the start. */
  readonly atMs: number;
  /** Infinity: it stays. */
  readonly forMs: number;
  /** From one begin to the next; Infinity: once. */
  readonly everyMs: number;
}

/** All that are given must hold; empty: every node. */
export interface NodeChoice {
  /** By index, both ends included. */
  readonly from?: number;
  readonly to?: number;
  readonly zone?: string;
  /** Of the nodes, in per cent; the same ones each time. */
  readonly percent?: number;
}

interface ChosenNode {
  readonly index: number;
  readonly zone: string;
}

/** The first that holds; undefined: the node is well. */
export function failureAt(
  schedule: readonly ScheduledFailure[],
  node: ChosenNode,
  elapsedMs: number,
): Failure | undefined {
  return schedule.find((one) => isOn(one, elapsedMs) && isChosen(one.nodes, node))?.failure;
}

function isOn({ atMs, forMs, everyMs }: ScheduledFailure, elapsedMs: number): boolean {
  if (elapsedMs < atMs) return false;
  return intoMs(elapsedMs - atMs, everyMs) < forMs;
}

function intoMs(sinceMs: number, everyMs: number): number {
  return everyMs === Infinity ? sinceMs : sinceMs % everyMs;
}

/** Infinity: never again. */
export function nextChangeMs(schedule: readonly ScheduledFailure[], elapsedMs: number): number {
  const changes = schedule.map(({ atMs, forMs, everyMs }) => {
    if (elapsedMs < atMs) return atMs;
    const into = intoMs(elapsedMs - atMs, everyMs);
    return elapsedMs + (into < forMs ? Math.min(forMs, everyMs) : everyMs) - into;
  });
  return Math.min(Infinity, ...changes);
}

function isChosen({ from = 0, to = Infinity, zone, percent }: NodeChoice, node: ChosenNode) {
  if (node.index < from || node.index > to) return false;
  if (zone !== undefined && node.zone !== zone) return false;
  return percent === undefined || shareOf(node.index) < percent;
}

/** An even spread over 0 to 100 by the index: Knuth's multiplicative hash. */
function shareOf(index: number): number {
  return (Math.imul(index + 1, 2_654_435_761) >>> 0) / (2 ** 32 / 100);
}
