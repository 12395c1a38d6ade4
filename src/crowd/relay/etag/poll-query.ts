/** Query parameters of a poll: `since`, a position, and `wait`, a time. */
import { badRequest } from "#api/status.ts";
import type { RelayLimits } from "../limits.ts";

export function sinceOf(query: URLSearchParams): number | undefined {
  const text = query.get("since");
  if (text === null || text === "") return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw badRequest(`since must be a resourceVersion, not ${JSON.stringify(text)}`);
}

export function waitMs(query: URLSearchParams, limits: RelayLimits): number {
  const text = query.get("wait");
  if (text === null || text === "") return 0;
  const match = /^([0-9]{1,6})(ms|s|m)?$/.exec(text);
  if (match === null) throw badRequest(`wait must be like 30s, not ${JSON.stringify(text)}`);
  const unit = { ms: 1, s: 1000, m: 60_000 }[match[2] ?? "s"] ?? 1000;
  return Math.min(Number(match[1]) * unit, limits.pollMsMax);
}
