/** Metrics of the configuration files of authentication and authorization and of issuers, with upstream's names. */
import { createHash } from "node:crypto";
import type { IssuerObserver } from "#auth/issuers/issuer-tokens.ts";
import type { TokenObserver } from "#auth/webhooks/webhook-tokens.ts";
import type { Clock } from "#platform/clock.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { ReloadObserver } from "./configuration-file.ts";

/** Hashes a label that may be secret or long, like upstream. */
function sha256(text: string): string {
  return text === "" ? "" : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

interface ReloadMetricsDeps {
  readonly clock: Clock;
  readonly metrics: MetricSet;
  /** ID of this API server. */
  readonly serverId: string;
}

/**
 * Counts reloads. `what`: authentication or authorization. `firstHash`: hash of the text at the start; undefined where
 * there is no file: then the metrics are there without series.
 */
export function reloadObserver(
  { clock, metrics, serverId }: ReloadMetricsDeps,
  what: string,
  firstHash: string | undefined,
): ReloadObserver {
  const name = `apiserver_${what}_config_controller`;
  const split = `of ${what} configuration split by status and apiserver identity.`;
  const labels = ["status", "apiserver_id_hash"];
  const total = `${name}_automatic_reloads_total`;
  const reloads = metrics.counter(
    total,
    `[BETA] Total number of automatic reloads ${split}`,
    labels,
  );
  const last = metrics.gauge(
    `${name}_automatic_reload_last_timestamp_seconds`,
    `[BETA] Timestamp of the last automatic reload ${split}`,
    labels,
  );
  const id = sha256(serverId);
  let hash = firstHash;
  metrics.gaugeOf(
    `${name}_last_config_info`,
    `[ALPHA] Information about the last applied ${what} configuration with hash as label, split by apiserver identity.`,
    ["apiserver_id_hash", "hash"],
    () => (hash === undefined ? [] : [[[id, hash], 1]]),
  );
  const note = (status: string): void => {
    reloads.add([status, id]);
    last.set([status, id], clock.nowMs() / 1_000);
  };
  return {
    reloaded(next) {
      hash = next;
      note("success");
    },
    failed: () => note("failure"),
  };
}

export function issuerObserver({ clock, metrics, serverId }: ReloadMetricsDeps): IssuerObserver {
  const latency = metrics.histogram(
    "apiserver_authentication_jwt_authenticator_latency_seconds",
    "[ALPHA] Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).",
    ["result", "jwt_issuer_hash"],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const fetched = metrics.gauge(
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
    "[ALPHA] Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.",
    ["result", "jwt_issuer_hash", "apiserver_id_hash"],
  );
  const id = sha256(serverId);
  const hashes = new Map<string, string>();
  const hashOf = (issuer: string): string => {
    const hash = hashes.get(issuer) ?? sha256(issuer);
    if (hashes.size < issuersMax) hashes.set(issuer, hash);
    return hash;
  };
  return {
    authenticated: (issuer, result, seconds) => latency.observe([result, hashOf(issuer)], seconds),
    fetched: (issuer, result) => fetched.set([result, hashOf(issuer), id], clock.nowMs() / 1_000),
  };
}

/** Observes the cache in front of a token webhook. */
export function tokenObserver(metrics: MetricSet): TokenObserver {
  const requests = metrics.counter(
    "authentication_token_cache_request_total",
    "[ALPHA] Requests to the token cache, by whether it had the answer.",
    ["status"],
  );
  const durations = metrics.histogram(
    "authentication_token_cache_request_duration_seconds",
    "[ALPHA] Time that requests to the token cache took.",
    ["status"],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const fetches = metrics.counter(
    "authentication_token_cache_fetch_total",
    "[ALPHA] Questions to the webhook behind the token cache, by what came of them.",
    ["status"],
  );
  const active = metrics.gauge(
    "authentication_token_cache_active_fetch_count",
    "[ALPHA] Questions to the webhook that are under way.",
    ["status"],
  );
  return {
    requested(status, seconds) {
      requests.add([status]);
      durations.observe([status], seconds);
    },
    fetching() {
      active.add(["in_flight"]);
      return (status) => {
        active.add(["in_flight"], -1);
        fetches.add([status]);
      };
    },
  };
}

/** Maximum number of issuers in metrics. One configuration has at most 64. */
const issuersMax = 1_024;
