/** Lifetimes of certificates, and retention of their requests. Pure. */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";
import { hasCondition, isIssued } from "./requests.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Twice the time by which a certificate's start is backdated. */
const lifetimeMinMs = 10 * minuteMs;

/** The requested lifetime, within the signer's limits. */
export function lifetimeMs(expirationSeconds: number | undefined, mostMs: number): number {
  if (expirationSeconds === undefined) return mostMs;
  const wantedMs = expirationSeconds * 1000;
  return wantedMs > mostMs ? mostMs : Math.max(wantedMs, lifetimeMinMs);
}

/** Age at which a request is deleted, by its state. */
const keptMs = {
  issued: hourMs,
  deniedOrFailed: hourMs,
  pending: 24 * hourMs,
  approvedOnly: 24 * hourMs,
} as const;

/** Whether the request is no longer needed. `endMs`: expiry of its certificate. */
export function isPastUse(
  request: CertificateSigningRequest,
  nowMs: number,
  endMs: number | undefined,
): boolean {
  const { status, metadata } = request;
  const conditions = status?.conditions ?? [];
  const isOlder = (text: string | undefined, ageMs: number): boolean => {
    const timeMs = parseTime(text);
    return timeMs !== undefined && nowMs - timeMs > ageMs;
  };
  if (conditions.length === 0) return isOlder(metadata?.creationTimestamp, keptMs.pending);
  const issued = isIssued(request);
  if (issued && hasCondition(request, "Approved") && endMs !== undefined && nowMs > endMs) {
    return true;
  }
  return conditions.some(({ type, lastUpdateTime }) => {
    if (type === "Denied" || type === "Failed") {
      return isOlder(lastUpdateTime, keptMs.deniedOrFailed);
    }
    if (type !== "Approved") return false;
    return isOlder(lastUpdateTime, issued ? keptMs.issued : keptMs.approvedOnly);
  });
}
