/** What the manager gives a controller, besides what the frame needs (`client/controller-frame.ts`). */
import type { ControllerMetrics } from "../metrics.ts";
import type { Client } from "#client/client.ts";
import type { ControllerDeps as FrameDeps } from "#client/controller-frame.ts";
import type { EventRecorder } from "#client/events.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";

export interface ControllerDeps extends FrameDeps {
  /** A client of another service account, for a loop that does the work of two of upstream's. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly recorder: EventRecorder;
  /** Absent: nothing is counted but the queue. */
  readonly metrics?: ControllerMetrics;
  /** What evictions wait for; creations of pods do so in `client`. Absent: nothing is paced. */
  readonly recovery?: RecoveryBudget;
}
