/**
 * Writes the outcome of groups into their status: PodGroupScheduled of a native group, as kube-scheduler does; the
 * phase and the numbers of a coscheduling group, as the controller of scheduler-plugins does.
 *
 * Holds  per group only the newest update waits, and one request is under way. An update that the object already
 *        contains is not written. A group that was scheduled once stays scheduled. Best effort: the next try, or the
 *        next change of a Pod, writes again.
 * Bounds `inFlightMax` requests; one waiting update per group with Pods.
 */
import type { Condition, PodGroup } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { GroupVerdict } from "./gang-scheduler.ts";
import type { CoschedulingStatus, GroupRef } from "./group-spec.ts";
import { groupRefs } from "./group-sources.ts";

const inFlightMax = 16;
const conditionType = "PodGroupScheduled";

interface Wish {
  readonly ref: GroupRef;
  readonly status: unknown;
}

export class GroupStatus {
  readonly #deps: { readonly client: Client; readonly clock: Clock; readonly log: Log };
  readonly #waiting = new Map<string, Wish>();
  readonly #busy = new Set<string>();

  constructor(deps: { client: Client; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  /** Writes the condition of a native group. */
  writeCondition(ref: GroupRef, group: PodGroup, verdict: GroupVerdict): void {
    const known = group.status?.conditions ?? [];
    const old = known.find(({ type }) => type === conditionType);
    if (old?.status === "True" && verdict.status === "False") return;
    if (isSaid(old, verdict)) return void this.#waiting.delete(ref.key);
    const now = formatTime(this.#deps.clock.nowMs());
    const condition: Condition = {
      type: conditionType,
      ...verdict,
      lastTransitionTime: old?.status === verdict.status ? old.lastTransitionTime : now,
      ...given({ observedGeneration: group.metadata?.generation }),
    };
    const others = known.filter(({ type }) => type !== conditionType);
    this.#write(ref, { conditions: [...others, condition] });
  }

  /** Writes the status of a coscheduling group. */
  writePhase(ref: GroupRef, status: CoschedulingStatus): void {
    this.#write(ref, status);
  }

  #write(ref: GroupRef, status: unknown): void {
    this.#waiting.set(ref.key, { ref, status });
    this.#send();
  }

  #send(): void {
    for (const [key, wish] of this.#waiting) {
      if (this.#busy.size >= inFlightMax) return;
      if (this.#busy.has(key)) continue;
      this.#waiting.delete(key);
      this.#busy.add(key);
      void this.#patch(wish).finally(() => {
        this.#busy.delete(key);
        this.#send();
      });
    }
  }

  async #patch({ ref, status }: Wish): Promise<void> {
    const { form, name, namespace } = ref;
    try {
      const options = { subresource: "status" };
      await this.#deps.client.patch(groupRefs[form], namespace, name, "merge", { status }, options);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.debug("status of a pod group was not written", {
        group: ref.key,
        error: message,
      });
    }
  }
}

function isSaid(old: Condition | undefined, { message, reason, status }: GroupVerdict): boolean {
  return old?.status === status && old.reason === reason && old.message === message;
}
