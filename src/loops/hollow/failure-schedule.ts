/**
 * Failures of nodes over time: each for some nodes, from a time on, for a while, perhaps again and again.
 *
 * Pure: `failureAt` says what is wrong with a node after so long, `nextChangeMs` when that changes at the earliest.
 */
import type { Failure } from "./failure.ts";

export interface ScheduledFailure {
  readonly failure: Failure;
  readonly nodes: NodeChoice;
  /** Time of the first start, since the start of the process. */
  readonly atMs: number;
  /** Duration of the failure; Infinity: it never ends. */
  readonly forMs: number;
  /** Time from one start to the next; Infinity: the failure happens once. */
  readonly everyMs: number;
}

/** A choice of nodes. All given fields must match; without fields, every node matches. */
export interface NodeChoice {
  /** First and last index, both included. */
  readonly from?: number;
  readonly to?: number;
  readonly zone?: string;
  /** Percentage of the nodes; the same nodes each time. */
  readonly percent?: number;
}

interface ChosenNode {
  readonly index: number;
  readonly zone: string;
}

/** Returns the first failure that applies to the node. Undefined: the node works. */
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

/** Returns the time of the next change; Infinity: there is no further change. */
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

/** Maps the index evenly to 0..100, by Knuth's multiplicative hash. */
function shareOf(index: number): number {
  return (Math.imul(index + 1, 2_654_435_761) >>> 0) / (2 ** 32 / 100);
}
