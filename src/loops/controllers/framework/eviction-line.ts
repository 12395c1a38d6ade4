/**
 * Evictions of pods: since when each pod waits, and the pace of the recovery budget. A pod that waits for its grant is in
 * line and holds no worker: its key is added again when the budget grants it.
 *
 *   waits ─► due ─► asks the budget ─► granted at once ─► evicted
 *                                  └─► in line ─► granted: the key comes again ─► evicted
 *
 * Bounds one record and one place in line per pod; the controller drops both with the pod or the reason of the eviction.
 */
import type { Pod, PodCondition } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { grantedWrite } from "#client/budgeted-client.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";
import { KeySource } from "#client/sources.ts";
import { isGone } from "./api-errors.ts";
import type { ControllerDeps } from "./deps.ts";
import { refs } from "./refs.ts";

/** The place of a due pod in the queue of the recovery budget. */
interface Place {
  readonly leave: AbortController;
  state: "in line" | "granted" | "used";
}

interface Waiting {
  readonly uid: string;
  readonly sinceMs: number;
}

/** What the condition DisruptionTarget of an evicted pod says. */
type DisruptionReason = Pick<PodCondition, "reason" | "message" | "observedGeneration">;

export class EvictionLine {
  /** Adds the key of each pod in line when it is granted. */
  readonly granted = new KeySource();
  readonly #deps: Pick<ControllerDeps, "client" | "clock" | "recovery">;
  /** By the controller's key. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #places = new Map<string, Place>();

  constructor(deps: Pick<ControllerDeps, "client" | "clock" | "recovery">) {
    this.#deps = deps;
  }

  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Returns the time since which this very pod waits: now, if it was not waiting yet. */
  sinceMs(key: string, pod: Pod): number {
    const known = this.#waiting.get(key);
    return known !== undefined && known.uid === uidOf(pod)
      ? known.sinceMs
      : this.#deps.clock.nowMs();
  }

  wait(key: string, pod: Pod, sinceMs: number): void {
    this.#waiting.set(key, { uid: uidOf(pod), sinceMs });
  }

  /** False: the pod is in line, and its key is added again when granted. The next eviction uses the grant. */
  isGranted(key: string, namespace: string): boolean {
    const { recovery } = this.#deps;
    if (recovery === undefined) return true;
    const place = this.#places.get(key);
    if (place === undefined || place.state === "used") return this.#enter(recovery, key, namespace);
    if (place.state === "in line") return false;
    place.state = "used";
    return true;
  }

  #enter(recovery: RecoveryBudget, key: string, namespace: string): boolean {
    const place: Place = { leave: new AbortController(), state: "in line" };
    const grant = recovery.take("evict", namespace, place.leave.signal);
    if (grant === undefined) return true;
    this.#places.set(key, place);
    void grant.then((isGranted) => {
      if (!isGranted) return;
      if (place.leave.signal.aborted) return recovery.unused("evict");
      place.state = "granted";
      this.granted.add(key);
    });
    return false;
  }

  /** The pod is not evicted, or is evicted already. A grant that it has not used goes to another. */
  leave(key: string): void {
    this.#waiting.delete(key);
    const place = this.#places.get(key);
    this.#places.delete(key);
    if (place?.state === "granted") this.#deps.recovery?.unused("evict");
    else place?.leave.abort();
  }

  /** Writes the condition DisruptionTarget and deletes the pod. @returns false: the pod was gone. */
  async evict(pod: Pod, reason: DisruptionReason): Promise<boolean> {
    const { recovery: budget, clock } = this.#deps;
    const evict = (): Promise<boolean> => this.#deletePod(pod, reason);
    return budget === undefined ? evict() : grantedWrite({ budget, clock }, "evict", evict);
  }

  async #deletePod(pod: Pod, reason: DisruptionReason): Promise<boolean> {
    const { client, clock } = this.#deps;
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(clock.nowMs());
    const condition = { type: "DisruptionTarget", status: "True", ...reason, lastTransitionTime };
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    const status = { subresource: "status" };
    try {
      await client.patch(refs.pods, namespace, name, "strategic", patch, status);
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? "";
}
