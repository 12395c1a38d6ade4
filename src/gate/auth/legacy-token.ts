/**
 * Authenticates legacy service-account tokens. They have no expiry and are stored in a Secret of type
 * kubernetes.io/service-account-token. A token is valid only while that Secret contains it and the account exists.
 *
 * Messages are upstream's (pkg/serviceaccount/legacy.go), for the log only; the client gets just 401.
 */
import { timingSafeEqual } from "node:crypto";
import type { Lister } from "#api/lister.ts";
import type { KubeObject } from "#api/object.ts";
import { serviceAccountUser } from "./groups.ts";
import type { RawClaims } from "./jwt.ts";
import type { BoundReference } from "./service-account-claims.ts";

export const legacyIssuer = "kubernetes/serviceaccount";
const prefix = "kubernetes.io/serviceaccount/";
const invalidSince = "kubernetes.io/legacy-token-invalid-since";

export interface LegacyClaims {
  readonly namespace: string;
  readonly account: BoundReference;
  readonly secretName: string;
}

export function legacyClaims({ namespace, account, secretName }: LegacyClaims): RawClaims {
  return {
    iss: legacyIssuer,
    [`${prefix}namespace`]: namespace,
    [`${prefix}secret.name`]: secretName,
    [`${prefix}service-account.name`]: account.name,
    [`${prefix}service-account.uid`]: account.uid,
    sub: serviceAccountUser(namespace, account.name),
  };
}

/** Reads the claims. Undefined: a claim is missing, or the subject is another account's. */
export function readLegacyClaims(raw: RawClaims): LegacyClaims | undefined {
  const text = (name: string): string => {
    const value = raw[prefix + name];
    return typeof value === "string" ? value : "";
  };
  const namespace = text("namespace");
  const secretName = text("secret.name");
  const account = { name: text("service-account.name"), uid: text("service-account.uid") };
  const all = [namespace, secretName, account.name, account.uid];
  if (all.includes("") || raw["sub"] !== serviceAccountUser(namespace, account.name)) {
    return undefined;
  }
  return { namespace, account, secretName };
}

/** Returns why the token is not valid. Undefined: it is valid. */
export function legacyFault(
  claims: LegacyClaims,
  token: string,
  lookup: Lister,
): string | undefined {
  const { namespace, account, secretName } = claims;
  const secret = lookup.get({ group: "", resource: "secrets" }, namespace, secretName);
  if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) {
    return "service account token has been invalidated";
  }
  if (!holds(secret, token)) return "service account token does not match server's copy";
  const accounts = { group: "", resource: "serviceaccounts" };
  const found = lookup.get(accounts, namespace, account.name);
  if (found === undefined) return `serviceaccounts "${account.name}" not found`;
  if (found.metadata?.deletionTimestamp !== undefined) {
    return `service account ${namespace}/${account.name} has been deleted`;
  }
  if (found.metadata?.uid !== account.uid) {
    return `service account UID (${found.metadata?.uid}) does not match claim (${account.uid})`;
  }
  if ((secret.metadata?.labels?.[invalidSince] ?? "") === "") return undefined;
  return `the token in secret ${namespace}/${secretName} for service account ${namespace}/${account.name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to temporarily allow use of this token`;
}

/** Returns whether the Secret contains the token. A Secret of another type never counts, whatever its data. */
function holds(secret: KubeObject, token: string): boolean {
  const { type, data } = secret as { readonly type?: string; readonly data?: object };
  if (type !== "kubernetes.io/service-account-token") return false;
  const kept = (data as { readonly token?: string } | undefined)?.token ?? "";
  const own = Buffer.from(token);
  const server = Buffer.from(kept, "base64");
  return own.length === server.length && timingSafeEqual(own, server);
}
