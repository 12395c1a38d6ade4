/**
 * Impersonation: `Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`.
 *
 * Holds  each requested part is authorised for the real user: by a constrained mode (constrained-impersonation.ts) or,
 *        where none grants it, with verb `impersonate`. Nothing is inherited from the real user. A header line is one
 *        group or value, including commas. Only for in-process callers, which do not keep lines apart, a value is a
 *        comma-separated list. A name must be UTF-8; other bytes are 400. Upstream continues with bytes that it prints
 *        as U+FFFD, so that two users would look the same.
 */
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer } from "./auth.ts";
import { grantConstrained, type Wanted } from "./constrained-impersonation.ts";
import {
  anonymousName,
  groups,
  serviceAccountGroups,
  serviceAccountUser,
  splitServiceAccount,
} from "./groups.ts";

type Impersonation =
  /** The request has no such header and continues as it is. */
  | { readonly kind: "none" }
  /** `constraint`: the verb of the mode that granted the impersonation. "": plain impersonation. */
  | { readonly kind: "user"; readonly user: UserInfo; readonly constraint: string }
  /** The answer is 403 for `attributes`. */
  | { readonly kind: "forbidden"; readonly attributes: Attributes; readonly reason: string }
  /** The answer is 400. */
  | { readonly kind: "bad-request"; readonly message: string };

interface Part {
  readonly kind: "ServiceAccount" | "User" | "Group" | "UserExtra" | "UID";
  readonly namespace: string;
  readonly name: string;
  /** Key of a UserExtra. */
  readonly key: string;
}

const authenticationGroup = "authentication.k8s.io";
const extraPrefix = "impersonate-extra-";
/** Maximum number of parts. Each costs one authorization; no real request needs more. */
const partsMax = 512;

/** `asked`: returns the attributes of the request by the real user. Called once, and only if the headers name a user. */
export async function impersonate(
  request: PlainRequest,
  user: UserInfo,
  authorizer: Authorizer,
  asked: () => Attributes,
): Promise<Impersonation> {
  const parts = listRequestedParts(request);
  if (parts.length === 0) return { kind: "none" };
  if (!parts.every(isText)) return { kind: "bad-request", message: notText };
  if (parts.length > partsMax) return { kind: "bad-request", message: "too much to impersonate" };
  const wanted = wantedOf(parts);
  if (parts[0]?.kind !== "User" && parts[0]?.kind !== "ServiceAccount") {
    const what = printWanted(wanted);
    return { kind: "bad-request", message: `requested ${what} without impersonating a user name` };
  }
  const constrained = await grantConstrained(wanted, asked(), authorizer);
  if (constrained?.kind === "granted") {
    const { constraint, groups: own } = constrained;
    return { kind: "user", user: buildUser(wanted, own), constraint };
  }
  for (const part of parts) {
    const attributes = partAttributes(part, user, request.path);
    const decision = await authorizer.authorize(attributes);
    if (decision.allowed) continue;
    const { attributes: of, reason } = constrained ?? { attributes, reason: decision.reason };
    return { kind: "forbidden", attributes: of, reason };
  }
  return { kind: "user", user: buildUser(wanted, plainGroups(wanted)), constraint: "" };
}

const notText = "impersonation headers must be valid UTF-8";

function isText({ namespace, name, key }: Part): boolean {
  return [namespace, name, key].every((text) => text.isWellFormed());
}

/** Lists the parts that the headers request, the user first if there is one. */
function listRequestedParts(request: PlainRequest): readonly Part[] {
  const { headers } = request;
  const parts: Part[] = [];
  const add = (kind: Part["kind"], name: string, namespace = "", key = ""): void => {
    parts.push({ kind, name, namespace, key });
  };
  const user = firstLine(request, "impersonate-user");
  const account = splitServiceAccount(user);
  if (account !== undefined) add("ServiceAccount", account.name, account.namespace);
  else if (user !== "") add("User", user);
  const uid = firstLine(request, "impersonate-uid");
  if (uid !== "") add("UID", uid);
  for (const group of linesOf(request, "impersonate-group")) add("Group", group);
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    for (const entry of linesOf(request, header)) add("UserExtra", entry, "", key);
  }
  return parts;
}

function linesOf({ headers, impersonateLines }: PlainRequest, header: string): readonly string[] {
  const joined = headers[header];
  if (joined === undefined) return [];
  return impersonateLines?.[header] ?? joined.split(",").map((entry) => entry.trim());
}

/** Returns the value of a single-valued header. Its first line is used, as upstream. */
function firstLine({ headers, impersonateLines }: PlainRequest, header: string): string {
  return impersonateLines?.[header]?.[0] ?? headers[header] ?? "";
}

/** Decodes a percent-encoded key of a header name. A key that is not well-formed is used unchanged. */
function unescapeKey(key: string): string {
  if (/%(?![0-9a-f]{2})/i.test(key)) return key;
  try {
    return decodeURIComponent(key);
  } catch {
    // The encoded bytes are not UTF-8. The returned text is not well-formed, so `isText` refuses it.
    return `${key}\udfff`;
  }
}

function partAttributes(part: Part, user: UserInfo, path: string): Attributes {
  const resources: Record<Part["kind"], string> = {
    ServiceAccount: "serviceaccounts",
    User: "users",
    Group: "groups",
    UserExtra: "userextras",
    UID: "uids",
  };
  const own = part.kind === "UserExtra" || part.kind === "UID";
  return {
    user,
    verb: "impersonate",
    path,
    isResourceRequest: true,
    group: own ? authenticationGroup : "",
    version: "v1",
    resource: resources[part.kind],
    subresource: part.key,
    namespace: part.namespace,
    name: part.name,
  };
}

function wantedOf(parts: readonly Part[]): Wanted {
  const [who] = parts;
  const account = who?.kind === "ServiceAccount" ? who : undefined;
  const user = who?.kind === "User" ? who.name : "";
  const extra = new Map<string, string[]>();
  for (const part of parts) {
    if (part.kind !== "UserExtra") continue;
    extra.set(part.key, [...(extra.get(part.key) ?? []), part.name]);
  }
  return {
    name: account === undefined ? user : serviceAccountUser(account.namespace, account.name),
    uid: parts.find((part) => part.kind === "UID")?.name ?? "",
    groups: parts.filter((part) => part.kind === "Group").map((part) => part.name),
    extra: Object.fromEntries(extra),
  };
}

/** Returns the requested groups, or those of a service account if none was requested. */
function plainGroups({ name, groups: given }: Wanted): readonly string[] {
  const account = splitServiceAccount(name);
  if (given.length > 0 || account === undefined) return given;
  return serviceAccountGroups(account.namespace);
}

function buildUser({ name, uid, extra }: Wanted, own: readonly string[]): UserInfo {
  return {
    name,
    groups: withStanding(name, own),
    ...(uid === "" ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Adds system:authenticated unless the caller requested one of the two groups. The anonymous user gets system:unauthenticated. */
function withStanding(name: string, given: readonly string[]): readonly string[] {
  const { authenticated, unauthenticated } = groups;
  if (name === anonymousName) {
    return given.includes(unauthenticated) ? given : [...given, unauthenticated];
  }
  const said = given.includes(authenticated) || given.includes(unauthenticated);
  return said ? given : [...given, authenticated];
}

/** Prints a user as Go does. */
function printWanted({ name, uid, groups: given, extra }: Wanted): string {
  const list = (values: readonly string[]): string =>
    values.length === 0 ? "[]string(nil)" : `[]string{${values.map(quoted).join(", ")}}`;
  const keys = Object.keys(extra).sort();
  const entries = keys.map((key) => `${quoted(key)}:${list(extra[key] ?? [])}`);
  const shown = keys.length === 0 ? "(nil)" : `{${entries.join(", ")}}`;
  return `&user.DefaultInfo{Name:${quoted(name)}, UID:${quoted(uid)}, Groups:${list(given)}, Extra:map[string][]string${shown}}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
