/** Dependencies that the manager gives a controller, besides those of the frame (`client/controller-frame.ts`). */
import type { ControllerMetrics } from "../metrics.ts";
import type { Client } from "#client/client.ts";
import type { ControllerDeps as FrameDeps } from "#client/controller-frame.ts";
import type { EventRecorder } from "#client/events.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";

export interface ControllerDeps extends FrameDeps {
  /** A client of another service account, for a controller that combines two of upstream's. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly recorder: EventRecorder;
  /** Absent: only the queue is counted. */
  readonly metrics?: ControllerMetrics;
  /** Paces evictions; creations of pods are paced in `client`. Absent: no pacing. */
  readonly recovery?: RecoveryBudget;
}
