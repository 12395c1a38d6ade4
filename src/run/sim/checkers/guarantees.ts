/** Guarantees of the etcd API that a history can violate, each with its checker. */
import { compaction } from "./compaction.ts";
import { converged } from "./converged.ts";
import { dense } from "./dense.ts";
import { durable } from "./durable.ts";
import type { History } from "./history.ts";
import { leaseAnswers } from "./lease-answers.ts";
import { leases } from "./leases.ts";
import { linearizable } from "./linearizable.ts";
import { restored } from "./restored.ts";
import { space } from "./space.ts";
import { Timeline } from "./timeline.ts";
import { watchAtomic } from "./watch-atomic.ts";
import { watchCanceled } from "./watch-canceled.ts";
import { watchOrdered } from "./watch-ordered.ts";
import { watchProgress } from "./watch-progress.ts";
import { watchReliable } from "./watch-reliable.ts";
import { watchResumable } from "./watch-resumable.ts";
import { watchUnique } from "./watch-unique.ts";

export const guarantees = {
  linearizable,
  dense,
  "watch ordered": watchOrdered,
  "watch unique": watchUnique,
  "watch reliable": watchReliable,
  "watch atomic": watchAtomic,
  "watch resumable": watchResumable,
  "watch progress": watchProgress,
  "watch canceled": watchCanceled,
  durable,
  leases,
  "lease answers": leaseAnswers,
  space,
  restored,
  compaction,
  converged,
} as const satisfies Record<string, (history: History, timeline: Timeline) => string[]>;

export type Guarantee = keyof typeof guarantees;

export interface Problem {
  readonly guarantee: Guarantee;
  readonly text: string;
}

/** @returns the violated guarantees; empty when all of them held. */
export function check(history: History): Problem[] {
  const timeline = new Timeline(history);
  return (Object.keys(guarantees) as Guarantee[]).flatMap((guarantee) =>
    guarantees[guarantee](history, timeline).map((text) => ({ guarantee, text })),
  );
}
