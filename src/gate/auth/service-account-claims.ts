/**
 * Checks whether the claims of a service-account token still hold: the account, and the pod, secret or node that the
 * token is bound to, must exist with the same uid.
 *
 * Messages are for the log only; the client gets just 401.
 */
import type { Lister } from "#api/lister.ts";
import type { GroupResource, KubeObject } from "#api/object.ts";
import type { RawClaims } from "./jwt.ts";

export interface BoundReference {
  readonly name: string;
  readonly uid: string;
}

export interface ServiceAccountClaims {
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly tokenId: string;
  readonly namespace: string;
  readonly account: BoundReference;
  readonly pod?: BoundReference;
  readonly secret?: BoundReference;
  readonly node?: BoundReference;
  /** Seconds since 1970, before `expiresAt`. The client should have fetched a new token by then. */
  readonly warnAfter?: number;
}

/** Leeway of go-jose. A deleted object also keeps its tokens valid for this time. */
const leewaySeconds = 60;

const core = (resource: string): GroupResource => ({ group: "", resource });

/** Reads the claims. Undefined: they are not those of a bound service-account token. */
export function readClaims(raw: RawClaims): ServiceAccountClaims | undefined {
  const kubernetes = asObject(raw["kubernetes.io"]);
  const namespace = kubernetes?.["namespace"];
  const account = readReference(kubernetes?.["serviceaccount"]);
  const expiresAt = raw["exp"];
  if (typeof namespace !== "string" || account === undefined || typeof expiresAt !== "number") {
    return undefined;
  }
  if (raw["sub"] !== `system:serviceaccount:${namespace}:${account.name}`) return undefined;
  return {
    audiences: readAudiences(raw["aud"]),
    expiresAt,
    notBefore: typeof raw["nbf"] === "number" ? raw["nbf"] : 0,
    tokenId: typeof raw["jti"] === "string" ? raw["jti"] : "",
    namespace,
    account,
    ...readBound("pod", kubernetes),
    ...readBound("secret", kubernetes),
    ...readBound("node", kubernetes),
    ...readWarnAfter(kubernetes?.["warnafter"]),
  };
}

function readWarnAfter(value: unknown): { readonly warnAfter?: number } {
  return typeof value === "number" && value > 0 ? { warnAfter: value } : {};
}

function readAudiences(aud: unknown): readonly string[] {
  const list = Array.isArray(aud) ? aud : [aud];
  return list.filter((entry) => typeof entry === "string");
}

function readBound(
  field: "pod" | "secret" | "node",
  kubernetes: RawClaims | undefined,
): { readonly [f in typeof field]?: BoundReference } {
  const reference = readReference(kubernetes?.[field]);
  return reference === undefined ? {} : { [field]: reference };
}

function readReference(value: unknown): BoundReference | undefined {
  const object = asObject(value);
  const name = object?.["name"];
  const uid = object?.["uid"];
  if (typeof name !== "string" || name === "") return undefined;
  return { name, uid: typeof uid === "string" ? uid : "" };
}

function asObject(value: unknown): RawClaims | undefined {
  return typeof value === "object" && value !== null ? (value as RawClaims) : undefined;
}

/** Returns why the token is no longer valid. Undefined: it is valid. */
export function claimsFault(
  claims: ServiceAccountClaims,
  lookup: Lister,
  nowMs: number,
): string | undefined {
  const now = nowMs / 1000;
  if (now > claims.expiresAt + leewaySeconds) return "service account token has expired";
  if (now < claims.notBefore - leewaySeconds) return "service account token is not valid yet";
  return accountFault(claims, lookup, nowMs) ?? boundFault(claims, lookup, nowMs);
}

function accountFault(
  claims: ServiceAccountClaims,
  lookup: Lister,
  nowMs: number,
): string | undefined {
  const { namespace, account } = claims;
  const found = lookup.get(core("serviceaccounts"), namespace, account.name);
  if (found === undefined) return `serviceaccounts "${account.name}" not found`;
  if (found.metadata?.uid !== account.uid) {
    return `service account UID (${found.metadata?.uid}) does not match claim (${account.uid})`;
  }
  return isGone(found, nowMs)
    ? `service account ${namespace}/${account.name} has been deleted`
    : undefined;
}

function boundFault(
  claims: ServiceAccountClaims,
  lookup: Lister,
  nowMs: number,
): string | undefined {
  const fault = (resource: string, namespace: string, what: string, ref?: BoundReference) =>
    ref && referenceFault(lookup.get(core(resource), namespace, ref.name), what, ref, nowMs);
  const { namespace, secret, pod, node } = claims;
  // The node of a pod-bound token is only information: the token is not bound to it.
  const boundNode = pod === undefined ? node : undefined;
  return (
    fault("secrets", namespace, "secret", secret) ??
    fault("pods", namespace, "pod", pod) ??
    fault("nodes", "", "node", boundNode)
  );
}

function referenceFault(
  found: KubeObject | undefined,
  what: string,
  reference: BoundReference,
  nowMs: number,
): string | undefined {
  if (found === undefined || isGone(found, nowMs))
    return "service account token has been invalidated";
  const uid = found.metadata?.uid;
  if (uid === reference.uid) return undefined;
  const title = what === "node" || what === "secret" ? what : "pod";
  return `${title} UID (${uid}) does not match service account ${what} ref claim (${reference.uid})`;
}

/** Returns whether the object's deletion is longer ago than the leeway. An object that is still terminating counts as present. */
function isGone(object: KubeObject, nowMs: number): boolean {
  const deleted = object.metadata?.deletionTimestamp;
  return deleted !== undefined && Date.parse(deleted) < nowMs - leewaySeconds * 1000;
}
