/**
 * Impersonation: `Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`.
 *
 * Holds  each requested part is authorised for the real user as verb `impersonate`; nothing is inherited
 *        from the real user. A header line is one group or value, commas included; only for callers that do
 *        not keep lines apart (in process) a value is a comma-separated list. A name is UTF-8; bytes that are not are
 *        400, where upstream goes on with bytes it then prints as U+FFFD: two users would look like one.
 * Absent the constrained verbs (`impersonate:...`).
 */
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer } from "./auth.ts";
import {
  anonymousName,
  groups,
  serviceAccountGroups,
  serviceAccountUser,
  splitServiceAccount,
} from "./groups.ts";

type Impersonation =
  /** No such header: the request goes on as it is. */
  | { readonly kind: "none" }
  | { readonly kind: "user"; readonly user: UserInfo }
  /** 403 for `attributes`. */
  | { readonly kind: "forbidden"; readonly attributes: Attributes; readonly reason: string }
  /** 400. */
  | { readonly kind: "bad-request"; readonly message: string };

interface Part {
  readonly kind: "ServiceAccount" | "User" | "Group" | "UserExtra" | "UID";
  readonly namespace: string;
  readonly name: string;
  /** For UserExtra: the key. */
  readonly key: string;
}

const authenticationGroup = "authentication.k8s.io";
const extraPrefix = "impersonate-extra-";
/** Every part is one authorisation; a request has no use for more. */
const partsMax = 512;

export function impersonate(
  request: PlainRequest,
  user: UserInfo,
  authorizer: Authorizer,
): Impersonation {
  const parts = listRequestedParts(request);
  if (parts.length === 0) return { kind: "none" };
  if (!parts.every(isText)) return { kind: "bad-request", message: notText };
  if (parts.length > partsMax) return { kind: "bad-request", message: "too much to impersonate" };
  if (parts[0]?.kind !== "User" && parts[0]?.kind !== "ServiceAccount") {
    const list = parts.map(printPart).join(" ");
    return { kind: "bad-request", message: `requested [${list}] without impersonating a user` };
  }
  for (const part of parts) {
    const attributes = partAttributes(part, user, request.path);
    const decision = authorizer.authorize(attributes);
    if (!decision.allowed) return { kind: "forbidden", attributes, reason: decision.reason };
  }
  return { kind: "user", user: buildUser(parts) };
}

const notText = "impersonation headers must be valid UTF-8";

function isText({ namespace, name, key }: Part): boolean {
  return [namespace, name, key].every((text) => text.isWellFormed());
}

/** The user first, when there is one. */
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
  for (const group of linesOf(request, "impersonate-group")) add("Group", group);
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    for (const entry of linesOf(request, header)) add("UserExtra", entry, "", key);
  }
  const uid = firstLine(request, "impersonate-uid");
  if (uid !== "") add("UID", uid);
  return parts;
}

function linesOf({ headers, impersonateLines }: PlainRequest, header: string): readonly string[] {
  const joined = headers[header];
  if (joined === undefined) return [];
  return impersonateLines?.[header] ?? joined.split(",").map((entry) => entry.trim());
}

/** Of a header that has one value: the first line counts, as upstream. */
function firstLine({ headers, impersonateLines }: PlainRequest, header: string): string {
  return impersonateLines?.[header]?.[0] ?? headers[header] ?? "";
}

/** Keys are percent-encoded in the header name; one that is not well formed is taken as it is. */
function unescapeKey(key: string): string {
  if (/%(?![0-9a-f]{2})/i.test(key)) return key;
  try {
    return decodeURIComponent(key);
  } catch {
    // Encoded bytes that are no UTF-8: a text that is not well-formed, which `isText` refuses.
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

function buildUser(parts: readonly Part[]): UserInfo {
  const [who] = parts;
  const account = who?.kind === "ServiceAccount" ? who : undefined;
  const name = account ? serviceAccountUser(account.namespace, account.name) : (who?.name ?? "");
  const named = parts.filter((part) => part.kind === "Group").map((part) => part.name);
  const given = named.length === 0 && account ? serviceAccountGroups(account.namespace) : named;
  const uid = parts.find((part) => part.kind === "UID")?.name;
  const extra = new Map<string, string[]>();
  for (const part of parts) {
    if (part.kind !== "UserExtra") continue;
    extra.set(part.key, [...(extra.get(part.key) ?? []), part.name]);
  }
  return {
    name,
    groups: withStanding(name, given),
    ...(uid === undefined ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** system:authenticated, unless the caller said otherwise; anonymous is never authenticated. */
function withStanding(name: string, given: readonly string[]): readonly string[] {
  const { authenticated, unauthenticated } = groups;
  if (name === anonymousName) {
    return given.includes(unauthenticated) ? given : [...given, unauthenticated];
  }
  const said = given.includes(authenticated) || given.includes(unauthenticated);
  return said ? given : [...given, authenticated];
}

/** As Go prints an ObjectReference: kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath. */
function printPart(part: Part): string {
  const own = part.kind === "UserExtra" || part.kind === "UID";
  const apiVersion = own ? `${authenticationGroup}/v1` : "";
  return `{${[part.kind, part.namespace, part.name, "", apiVersion, "", part.key].join(" ")}}`;
}
