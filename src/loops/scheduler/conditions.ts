/**
 * Writes the outcome for unschedulable Pods into their status: PodScheduled=False with the reason, and the nominated
 * node.
 *
 * Holds  per Pod only the newest update waits, and one request is under way. An update that the object already contains
 *        is not written. Best effort: the Pod's next try repeats a lost write.
 * Bounds `inFlightMax` requests; at most one waiting update per unbound Pod.
 */
import type { Pod, PodCondition } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";

interface PodVerdict {
  /** Unschedulable or SchedulerError. */
  readonly reason: string;
  readonly message: string;
  /** Absent: the nominated node name in the status is left unchanged. */
  readonly nominatedNodeName?: string;
}

interface Wish {
  readonly pod: Pod;
  readonly verdict: PodVerdict;
}

const pods = { group: "", version: "v1", resource: "pods" } as const;
const inFlightMax = 16;

export class Conditions {
  readonly #deps: { readonly client: Client; readonly clock: Clock; readonly log: Log };
  readonly #waiting = new Map<string, Wish>();
  readonly #busy = new Set<string>();

  constructor(deps: { client: Client; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  write(pod: Pod, verdict: PodVerdict): void {
    const uid = pod.metadata?.uid ?? "";
    if (isSaid(pod, verdict)) return void this.#waiting.delete(uid);
    this.#waiting.set(uid, { pod, verdict });
    this.#send();
  }

  /** Discards the pending write, because the Pod was placed or deleted and the condition is no longer true. */
  cancel(uid: string): void {
    this.#waiting.delete(uid);
  }

  #send(): void {
    for (const [uid, wish] of this.#waiting) {
      if (this.#busy.size >= inFlightMax) return;
      if (this.#busy.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#busy.add(uid);
      void this.#patch(wish).finally(() => {
        this.#busy.delete(uid);
        this.#send();
      });
    }
  }

  async #patch({ pod, verdict }: Wish): Promise<void> {
    const { namespace = "", name = "", uid, generation } = pod.metadata ?? {};
    const old = conditionOf(pod);
    const now = formatTime(this.#deps.clock.nowMs());
    const condition: PodCondition = {
      type: "PodScheduled",
      status: "False",
      reason: verdict.reason,
      message: verdict.message,
      lastTransitionTime: old?.status === "False" ? (old.lastTransitionTime ?? now) : now,
      ...given({ observedGeneration: generation }),
    };
    const { nominatedNodeName } = verdict;
    const nominated = nominatedNodeName === undefined ? {} : { nominatedNodeName };
    const patch = { metadata: { uid }, status: { conditions: [condition], ...nominated } };
    try {
      const options = { subresource: "status" };
      await this.#deps.client.patch(pods, namespace, name, "strategic", patch, options);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.debug("pod condition was not written", { pod: name, error: message });
    }
  }
}

function conditionOf(pod: Pod): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === "PodScheduled");
}

function isSaid(pod: Pod, verdict: PodVerdict): boolean {
  const condition = conditionOf(pod);
  return (
    condition?.status === "False" &&
    condition.reason === verdict.reason &&
    condition.message === verdict.message &&
    (verdict.nominatedNodeName ?? pod.status?.nominatedNodeName ?? "") ===
      (pod.status?.nominatedNodeName ?? "")
  );
}
