/**
 * Limits the rate at which nodes may be tainted: the state of the zones in the last round, and a token bucket per zone.
 * The
 * rules are in zones.ts.
 */
import type { Node } from "#api/gen/types.ts";
import type { Clock } from "#platform/clock.ts";
import { evictionKeyOf, isGivenUp, zoneOf } from "./health.ts";
import { nodeLifecycleDefaults, type NodeLifecycleOptions } from "./options.ts";
import { countZones, evictionRates, isCutOff, TokenBucket } from "./zones.ts";

export class ZonePace {
  readonly #clock: Clock;
  readonly #rules: NodeLifecycleOptions;
  readonly #buckets = new Map<string, TokenBucket>();
  #rates: ReadonlyMap<string, number> = new Map();
  #cutOff = false;

  constructor({ clock }: { readonly clock: Clock }, rules = nodeLifecycleDefaults) {
    this.#clock = clock;
    this.#rules = rules;
  }

  /** @returns whether all zones were lost at the previous check and are not any more. */
  look(nodes: Iterable<Node>): boolean {
    const zones = countZones(nodes);
    const wasCutOff = this.#cutOff;
    this.#rates = evictionRates(zones, this.#rules);
    this.#cutOff = isCutOff(zones);
    return wasCutOff && !this.#cutOff;
  }

  restart(): void {
    this.#buckets.clear();
  }

  /** Key of the NoExecute taint the node should have: immediately if it already has one, otherwise at its zone's rate. */
  takeEvictionKey(node: Node): string | undefined {
    const key = evictionKeyOf(node);
    // If all zones are lost, the control plane itself is isolated, so taints are removed.
    if (key === undefined || this.#cutOff) return undefined;
    return isGivenUp(node) || this.#take(zoneOf(node)) ? key : undefined;
  }

  #take(zone: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(zone) ?? new TokenBucket(nowMs);
    this.#buckets.set(zone, bucket);
    return bucket.take(this.#rates.get(zone) ?? 0, nowMs);
  }
}
