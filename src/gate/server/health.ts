/**
 * Serves `/healthz`, `/livez` and `/readyz`, each check also at its own sub-path, with upstream's texts.
 *
 * Checks are synchronous: each component keeps its result ready, and the endpoint never waits. Failures are always
 * shown in the verbose form, without reasons; the reasons are logged.
 */
import type { PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import { bytesResponse, textResponse } from "./respond.ts";

const encoder = new TextEncoder();
const plainText = "text/plain; charset=utf-8";

export interface HealthCheck {
  /** Name of the check: `ping`, `etcd`, `informer-sync`, `poststarthook/...`. */
  readonly name: string;
  /** Whether the check is only informational: it is shown and fails at its own path, but never fails its group. */
  readonly isInformational?: true;
  /** @returns the problem, or undefined when healthy. */
  check(): string | undefined;
}

export interface Health {
  readonly healthz: readonly HealthCheck[];
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
}

export const ping: HealthCheck = { name: "ping", check: () => undefined };

/** Always healthy: the loop that answers also writes the log, so a blocked log means no answer. */
export const logging: HealthCheck = { name: "log", check: () => undefined };

/** Answers a health path. @returns undefined for any other path. */
export function healthResponse(
  health: Health,
  path: string,
  query: URLSearchParams,
  log: Log,
): PlainResponse | undefined {
  const match = /^\/(healthz|livez|readyz)(?:\/(.*))?$/.exec(path);
  if (match === null) return undefined;
  const root = match[1] as keyof Health; // one of the three by the expression
  const name = match[2];
  if (name === undefined) return groupResponse(root, health[root], query, log);
  const found = health[root].find((check) => check.name === name);
  if (found === undefined) return undefined;
  const why = found.check();
  if (why === undefined) return bytesResponse(200, [encoder.encode("ok")], plainText);
  return textResponse(500, `internal server error: ${why}\n`);
}

function groupResponse(
  root: string,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
  log: Log,
): PlainResponse {
  const excluded = new Set(query.getAll("exclude"));
  const unknown = new Set(excluded);
  const lines: string[] = [];
  const failed: string[] = [];
  for (const check of checks) {
    unknown.delete(check.name);
    if (excluded.has(check.name)) lines.push(`[+]${check.name} excluded: ok`);
    else lines.push(checkLine(check, failed));
  }
  if (unknown.size > 0) {
    const names = [...unknown]
      .sort()
      .map((name) => JSON.stringify(name))
      .join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed.length > 0) {
    log.warn("health check failed", { root, failed });
    return textResponse(500, `${lines.join("\n")}\n${root} check failed\n`);
  }
  if (!query.has("verbose")) return textResponse(200, "ok");
  return textResponse(200, `${lines.join("\n")}\n${root} check passed\n`);
}

function checkLine(check: HealthCheck, failed: string[]): string {
  const why = check.check();
  if (why === undefined) return `[+]${check.name} ok`;
  if (check.isInformational === true) {
    return `[-]${check.name} failed: reason withheld (informational)`;
  }
  failed.push(`${check.name}: ${why}`);
  return `[-]${check.name} failed: reason withheld`;
}
