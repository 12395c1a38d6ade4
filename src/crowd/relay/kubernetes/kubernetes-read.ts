/**
 * One read of a mirrored resource, and how new the mirror must be for it.
 *
 * Holds  a read is never older than it asks to be: it waits for the mirror, or the upstream is listed once
 *        for all waiting reads. While the upstream is away, "most recent" is the last known state, and a
 *        Warning header says so.
 */
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import type { Random } from "#platform/random.ts";
import type { Place } from "#server/place.ts";
import type { SelectorPool } from "#watch/selector-pool.ts";
import type { WatchStreamDeps } from "#server/watch-stream.ts";
import type { LargeResponseLimiter } from "../fleet/large-response-limiter.ts";
import type { RelayMetrics } from "../metrics.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import type { Version } from "./read-query.ts";

export interface FrontendDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly streams: WatchStreamDeps;
  readonly metrics: RelayMetrics;
  readonly largeAnswers: LargeResponseLimiter;
  /** Compiled selectors that open watches share. */
  readonly selectors: SelectorPool;
  /** "verify": reads are as fresh as Kubernetes promises. "cache": the mirror's newest state counts as most recent. */
  readonly consistency: "verify" | "cache";
}

/** A read that is already authorised. */
export interface Read {
  readonly resource: Mirrored;
  readonly request: PlainRequest;
  readonly verb: string;
  /** Place that was authorised; the read must not go beyond it. */
  readonly place: Place;
  readonly query: URLSearchParams;
  readonly holding: Holding;
  /** Name of the caller; selectors kept for its watches are counted under this name. */
  readonly callerName: string;
}

/** "pass": the relay cannot answer exactly, so the request passes to the upstream. */
export type Answer = PlainResponse | "pass";

/** Waits until the mirror is as new as `version` requires. @returns a warning header when it may not be. */
export async function freshEnough(
  deps: FrontendDeps,
  { freshness, mirror }: Mirrored,
  version: Version,
): Promise<Headers> {
  if (version.kind === "atLeast") await freshness.atLeast(version.revision);
  if (version.kind !== "latest" || deps.consistency === "cache") return {};
  try {
    await freshness.latest();
    return {};
  } catch {
    // Even a 4xx concerns the relay's own request, or comes from a load balancer: it is no answer to the client.
    deps.metrics.staleReads.add([]);
    const seconds = Math.ceil(mirror.ageMs / 1000);
    const text = `the relay cannot reach its upstream; this may be ${seconds} s old`;
    return { warning: `299 - "${text}"` };
  }
}
