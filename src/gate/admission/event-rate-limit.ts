/**
 * EventRateLimit: refuses Events above a rate. There are token buckets for the server, and for each namespace, user, or
 * source and object.
 *
 * Holds  every limit is checked and takes its token, even if an earlier one refused. A dry run takes no tokens.
 * Limits `cacheSize` buckets per limit, 4,096 by default. Above that the least recently used bucket is removed; a new
 *        bucket is full. A clock that goes backwards adds no tokens.
 */
import type { Event } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface EventLimit {
  readonly type: "Server" | "Namespace" | "User" | "SourceAndObject";
  readonly qps: number;
  readonly burst: number;
  /** Number of buckets; 0: `bucketsDefault`. */
  readonly cacheSize: number;
}

/** Upstream's default. */
const bucketsDefault = 4_096;

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

export function eventRateLimit(
  { clock }: { readonly clock: Clock },
  limits: readonly EventLimit[],
): AdmissionPlugin {
  const enforcers = limits.map((limit) => new Enforcer(clock, limit));
  return {
    name: "EventRateLimit",
    validate(request) {
      if (request.operation !== "CREATE" && request.operation !== "UPDATE") return;
      if (request.info.group !== "" || request.info.kind !== "Event" || request.dryRun) return;
      const refusals = enforcers.flatMap((enforcer) => enforcer.accept(request) ?? []);
      if (refusals.length === 0) return;
      throw failure(429, "TooManyRequests", `Too many requests: ${aggregate(refusals)}`);
    },
  };
}

/** Upstream's form of several errors: each text once. */
function aggregate(texts: readonly string[]): string {
  const [first = "", ...more] = new Set(texts);
  return more.length === 0 ? first : `[${[first, ...more].join(", ")}]`;
}

class Enforcer {
  readonly #clock: Clock;
  readonly #limit: EventLimit;
  readonly #bucketsMax: number;
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, limit: EventLimit) {
    this.#clock = clock;
    this.#limit = limit;
    this.#bucketsMax = limit.cacheSize === 0 ? bucketsDefault : limit.cacheSize;
  }

  /** @returns the error; undefined: a token was taken. */
  accept(request: AdmissionRequest): string | undefined {
    const key = keyOf(this.#limit.type, request);
    const bucket = this.#bucket(key);
    if (bucket.tokens < 1) return `limit reached on type ${this.#limit.type} for key ${key}`;
    bucket.tokens -= 1;
    return undefined;
  }

  #bucket(key: string): Bucket {
    const { qps, burst } = this.#limit;
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, filledAtMs: nowMs };
    const passedMs = Math.max(0, nowMs - bucket.filledAtMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (passedMs * qps) / 1000);
    bucket.filledAtMs = nowMs;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    this.#dropOldest();
    return bucket;
  }

  #dropOldest(): void {
    if (this.#buckets.size <= this.#bucketsMax) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

function keyOf(type: EventLimit["type"], request: AdmissionRequest): string {
  switch (type) {
    case "Server":
      return "";
    case "Namespace":
      return request.namespace;
    case "User":
      return request.user.name;
    case "SourceAndObject":
      return sourceAndObject((request.object ?? {}) as Partial<Event>);
    default:
      return type satisfies never;
  }
}

/** As upstream, joined without a separator. */
function sourceAndObject({ source, involvedObject: about }: Partial<Event>): string {
  const { component = "", host = "" } = source ?? {};
  const { kind = "", namespace = "", name = "", uid = "", apiVersion = "" } = about ?? {};
  return [component, host, kind, namespace, name, uid, apiVersion].join("");
}
