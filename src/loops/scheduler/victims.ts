/** Eviction of a preemption victim, as upstream: writes the reason into its status, then deletes it. */
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { isConflict, isNotFound } from "#client/api-errors.ts";
import { retryTransient } from "#client/retry.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { PodInfo } from "./pod-info.ts";

interface VictimDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventRecorder;
}

const pods = { group: "", version: "v1", resource: "pods" } as const;
const tries = { triesMax: 5, firstMs: 100, mostMs: 5_000 };

/** Never throws: a victim that could not be evicted is found again at the preemptor's next attempt. */
export async function evictVictim(
  deps: VictimDeps,
  preemptor: PodInfo,
  victim: PodInfo,
  nodeName: string,
): Promise<void> {
  const { client, clock, events, log } = deps;
  if (victim.isTerminating) return;
  const { namespace, name, uid } = victim;
  const never = new AbortController().signal;
  const generation = victim.pod.metadata?.generation;
  const scheduler = preemptor.pod.spec?.schedulerName ?? "default-scheduler";
  const condition = {
    type: "DisruptionTarget",
    ...given({ observedGeneration: generation }),
    status: "True",
    reason: "PreemptionByScheduler",
    message: `${scheduler}: preempting to accommodate a higher priority pod`,
    lastTransitionTime: formatTime(clock.nowMs()),
  };
  const patch = { metadata: { uid }, status: { conditions: [condition] } };
  try {
    await retryTransient(deps, tries, never, async () => {
      await client.patch(pods, namespace, name, "strategic", patch, { subresource: "status" });
      await client.delete(pods, namespace, name, { preconditions: { uid } });
    });
    const text = `Preempted by pod ${preemptor.uid} on node ${nodeName}`;
    events.event(victim.pod, "Normal", "Preempted", text);
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return; // it went by itself
    const message = error instanceof Error ? error.message : String(error);
    log.warn("victim was not evicted", { pod: victim.key, error: message });
  }
}
