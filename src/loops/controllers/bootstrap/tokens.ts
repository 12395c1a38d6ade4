/**
 * Reads bootstrap tokens from their Secrets in kube-system, for controllers. Pure.
 *
 * After  k8s.io/cluster-bootstrap: an expiration that is not an RFC 3339 time counts as passed.
 */
import type { Secret } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";

const tokenNamespace = "kube-system";
const tokenType = "bootstrap.kubernetes.io/token";
export const tokenSelector = `type=${tokenType},metadata.namespace=${tokenNamespace}`;

const secretName = /^bootstrap-token-([a-z0-9]{6})$/;
const utf8 = new TextDecoder();

/** A value of the Secret as text; "" when absent. */
function tokenValue({ data }: Secret, key: string): string {
  const bytes = Uint8Array.from(atob(data?.[key] ?? ""), (character) => character.charCodeAt(0));
  return utf8.decode(bytes);
}

/** When the token expires; undefined: never. */
export function tokenEndMs(secret: Secret): number | undefined {
  const text = tokenValue(secret, "expiration");
  return text === "" ? undefined : (parseTime(text) ?? -Infinity);
}

export interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

/** The token, if it may be used to sign cluster-info at `nowMs`. */
export function signingToken(secret: Secret, nowMs: number): SigningToken | undefined {
  const [, nameId] = secretName.exec(secret.metadata?.name ?? "") ?? [];
  const id = tokenValue(secret, "token-id");
  const token = tokenValue(secret, "token-secret");
  if (nameId === undefined || nameId !== id || token === "") return undefined;
  const endMs = tokenEndMs(secret);
  if (endMs !== undefined && endMs <= nowMs) return undefined;
  return tokenValue(secret, "usage-bootstrap-signing") === "true"
    ? { id, secret: token }
    : undefined;
}
