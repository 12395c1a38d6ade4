/**
 * Checks the claims of a token as upstream does, before the signature is checked.
 *
 * Source: github.com/coreos/go-oidc verify.go as Kubernetes 1.36 uses it.
 */
import type { RawClaims } from "../jwt.ts";
import { ClaimError } from "./claim-expressions.ts";

/** Leeway of go-oidc, which applies to `nbf` only. */
const leewaySeconds = 60;

/** @throws ClaimError */
function audiencesOf(claims: RawClaims): readonly string[] {
  const { aud = [] } = claims as { readonly aud?: unknown };
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return list.map((each) => {
    if (typeof each === "string") return each;
    throw unreadable("aud", each, Array.isArray(aud) ? "string" : "[]string");
  });
}

/** @throws ClaimError */
export function checkAudience(claims: RawClaims, accepted: readonly string[]): void {
  const found = audiencesOf(claims);
  if (found.some((audience) => accepted.includes(audience))) return;
  const list = (texts: readonly string[]): string =>
    `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
  const [only = ""] = accepted;
  const expected = accepted.length === 1 ? JSON.stringify(only) : `in ${list(accepted.toSorted())}`;
  throw new ClaimError(`oidc: expected audience ${expected} got ${list(found)}`);
}

/** @returns when the token ends, in milliseconds since 1970. @throws ClaimError */
export function checkTimes(claims: RawClaims, nowMs: number): number {
  const expires = secondsOf(claims, "exp");
  const notBefore = secondsOf(claims, "nbf");
  if (expires === undefined || expires * 1_000 < nowMs) {
    const shown = expires === undefined ? "0001-01-01 00:00:00 +0000 UTC" : goTime(expires);
    throw new ClaimError(`oidc: token is expired (Token Expiry: ${shown})`);
  }
  if (notBefore !== undefined && nowMs / 1_000 + leewaySeconds < notBefore) {
    const [now, start] = [goTime(nowMs / 1_000), goTime(notBefore)];
    throw new ClaimError(`oidc: current time ${now} before the nbf (not before) time: ${start}`);
  }
  return expires * 1_000;
}

function secondsOf(claims: RawClaims, name: "exp" | "nbf"): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof seconds === "number" && Number.isFinite(seconds)) return Math.trunc(seconds);
  throw new ClaimError(`oidc: failed to unmarshal claims: ${name} is no number`);
}

/** Checks that the subject is a text, even if another claim names the user. @throws ClaimError */
export function checkSubject({ sub = "" }: { readonly sub?: unknown }): void {
  if (typeof sub !== "string" && sub !== null) throw unreadable("sub", sub, "string");
}

function unreadable(field: string, value: unknown, type: string): ClaimError {
  const what = `json: cannot unmarshal ${jsonType(value)} into Go struct field idToken.${field}`;
  return new ClaimError(`oidc: failed to unmarshal claims: ${what} of type ${type}`);
}

/** Returns the type of a value as Go's JSON decoder names it. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function goTime(seconds: number): string {
  const date = new Date(seconds * 1_000);
  if (Number.isNaN(date.getTime())) return String(seconds);
  return `${date.toISOString().slice(0, 19).replace("T", " ")} +0000 UTC`;
}
