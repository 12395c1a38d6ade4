/**
 * Emits Events about Services and addresses with wrong numbers, with upstream's reasons and texts.
 *
 * Bounds `perRound` events per round. Further errors are logged, and reported when they are found again.
 * After  k/k pkg/registry/core/service: ipallocator/controller/repairip.go, portallocator/controller/repair.go.
 */
import type { Event } from "#api/gen/types.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import { formatMicroTime } from "#api/values/time.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";

interface RepairEventsDeps {
  readonly registry: Pick<Registry, "store">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A fault in the numbers of an object. */
export interface Finding {
  readonly about: KubeObject;
  readonly kind: "address" | "port";
  readonly reason: string;
  readonly message: string;
}

const controllers = {
  address: { action: "ClusterIPAllocation", name: "ipallocator-repair-controller" },
  port: { action: "PortAllocation", name: "portallocator-repair-controller" },
} as const;
const perRound = 100;
/** Maximum length of the name, which leaves room for a time, as upstream's. */
const nameMax = 200;

export class RepairEvents {
  readonly #deps: RepairEventsDeps;
  readonly #store: ResourceStore;
  #left = perRound;

  constructor(deps: RepairEventsDeps) {
    this.#deps = deps;
    const info = resourceByPath("", "v1", "events");
    this.#store = deps.registry.store(must(info, "events are built in"));
  }

  beginRound(): void {
    this.#left = perRound;
  }

  /** Never rejects. */
  async tell(finding: Finding): Promise<void> {
    const { log } = this.#deps;
    const { message, reason } = finding;
    log.warn("the numbers of a service are wrong", { reason, message });
    if (this.#left <= 0) return;
    this.#left--;
    const event = this.#eventOf(finding);
    // Go writes empty times as null in an Event, and only in an Event are they kept.
    const stored = { ...event, firstTimestamp: null, lastTimestamp: null };
    try {
      const namespace = event.metadata?.namespace ?? "";
      await this.#store.create(namespace, stored as unknown as AnyObject, { dryRun: false });
    } catch (error) {
      log.warn("an event could not be written", { reason, error: String(error) });
    }
  }

  #eventOf({ about, kind, reason, message }: Finding): Event {
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = about.metadata ?? {};
    const { apiVersion = "", kind: objectKind = "" } = about;
    const { action, name: controller } = controllers[kind];
    const suffix = Buffer.from(this.#deps.random.bytes(8)).toString("hex");
    const own = namespace === "" ? {} : { namespace };
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: {
        name: `${name.slice(0, nameMax)}.${suffix}`,
        namespace: namespace === "" ? "default" : namespace,
      },
      involvedObject: { apiVersion, kind: objectKind, ...own, name, uid, resourceVersion },
      reason,
      message,
      type: "Warning",
      action,
      eventTime: formatMicroTime(this.#deps.clock.nowMs()),
      reportingComponent: controller,
      reportingInstance: controller,
      source: {},
    };
  }
}
