/**
 * Records the time of each node's last heartbeat by the monotonic clock of this process: it is never compared with
 * clocks of nodes.
 *
 * Holds  one record per checked node; call `forget` when the node is deleted.
 */
import type { Lease, Node } from "#api/gen/types.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { nodeLifecycleDefaults, type NodeLifecycleOptions } from "./options.ts";
import { conditionOf } from "./health.ts";

const leaseNamespace = "kube-node-lease";

type Graces = Pick<NodeLifecycleOptions, "graceMs" | "startupGraceMs">;

interface Sign {
  /** The node's last sign of life: lease renewal and heartbeat. */
  readonly mark: string;
  seenMs: number;
}

export class Heartbeats {
  readonly #clock: Clock;
  readonly #leases: Informer<Lease>;
  readonly #graces: Graces;
  readonly #signs = new Map<string, Sign>();

  constructor(
    { clock, informers }: Pick<ControllerDeps, "clock" | "informers">,
    graces: Graces = nodeLifecycleDefaults,
  ) {
    this.#clock = clock;
    this.#graces = graces;
    // Over all namespaces, so that the copy is shared with the garbage collector.
    this.#leases = informers.informer<Lease>(refs.leases);
  }

  /** Whether neither Lease nor Ready heartbeat has changed for the grace period. Records the current ones. */
  isSilent(node: Node): boolean {
    const name = node.metadata?.name ?? "";
    const mark = this.#markOf(node);
    const nowMs = this.#clock.monotonicMs();
    const sign = this.#signs.get(name);
    if (sign === undefined || sign.mark !== mark) {
      this.#signs.set(name, { mark, seenMs: nowMs });
      return false;
    }
    const hasStarted = conditionOf(node, "Ready") !== undefined;
    const { graceMs, startupGraceMs } = this.#graces;
    return nowMs - sign.seenMs > (hasStarted ? graceMs : startupGraceMs);
  }

  forget(name: string): void {
    this.#signs.delete(name);
  }

  /** Restarts the grace period of all nodes. */
  restart(): void {
    for (const sign of this.#signs.values()) sign.seenMs = this.#clock.monotonicMs();
  }

  #markOf(node: Node): string {
    const lease = this.#leases.get(leaseNamespace, node.metadata?.name ?? "");
    const heartbeat = conditionOf(node, "Ready")?.lastHeartbeatTime ?? "";
    return `${lease?.spec?.renewTime ?? ""} ${heartbeat}`;
  }
}
