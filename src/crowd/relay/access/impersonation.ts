/**
 * Impersonation. Towards the upstream: headers that name the user for whom the relay asks, under its own
 * credential. From a client (`kubectl --as`): each requested identity is authorised as the upstream would,
 * then the client acts as that user, and its own headers are not passed on.
 *
 * Holds  the upstream reads the very names the relay knows, or is not asked: a name that a header line
 *        cannot carry as it is (control characters, spaces at its ends, none at all) is refused, for
 *        HTTP would make another user's name of it.
 */
import { ownEntry } from "#base/own.ts";
import { badRequest, failure } from "#api/status.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Authorizer, Question } from "./question.ts";

const extraPrefix = "impersonate-extra-";
const anonymousName = "system:anonymous";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";

/** Throws 403 for a user whose name, groups or extras cannot be written into a header line. */
export function impersonationHeaders(
  user: UserInfo,
): Readonly<Record<string, string | readonly string[]>> {
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": user.name };
  if (user.groups.length > 0) headers["impersonate-group"] = user.groups;
  if (user.uid !== undefined && user.uid !== "") headers["impersonate-uid"] = user.uid;
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    headers[`${extraPrefix}${headerKey(key)}`] = values;
  }
  if (user.name === "" || !Object.values(headers).flat().every(isCarriedAsItIs)) {
    const name = JSON.stringify(user.name);
    const text = `forbidden: the name, a group or an extra of user ${name} cannot be sent in a header`;
    throw failure(403, "Forbidden", text, {});
  }
  return headers;
}

/**
 * Whether a header value arrives unchanged: recipients trim spaces and tabs (RFC 9110, 5.5); control characters end a
 * line or are refused.
 */
function isCarriedAsItIs(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what it asks for
  const isPlain = !/[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/.test(text);
  return isPlain && text.isWellFormed();
}

/** Header names are case-insensitive and cannot hold a slash: such characters are percent-encoded, as client-go does. */
function headerKey(key: string): string {
  return key.replace(/[^a-z0-9._-]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

/** Returns the user of the request: `user`, or the user that it impersonates and may impersonate. Throws 400 and 403. */
export async function actingUser(
  access: Authorizer,
  user: UserInfo,
  request: PlainRequest,
): Promise<UserInfo> {
  const wished = requestedUser(request);
  if (wished === undefined) {
    if (!isImpersonating(request)) return user;
    throw badRequest("impersonation of groups, uids and extras needs a user to impersonate");
  }
  await access.authorize(user, userQuestion(wished.name));
  // Only the groups in the headers are checked, not those that follow from the user name.
  for (const group of linesOf(request, "impersonate-group")) {
    await access.authorize(user, question("", "groups", group));
  }
  if (wished.uid !== undefined) {
    await access.authorize(user, question("authentication.k8s.io", "uids", wished.uid));
  }
  for (const [key, values] of Object.entries(wished.extra ?? {})) {
    for (const value of values) {
      const asked = question("authentication.k8s.io", "userextras", value);
      await access.authorize(user, { ...asked, subresource: key });
    }
  }
  return wished;
}

/** Whether any header requests impersonation. An empty header does not, as upstream. */
export function isImpersonating({ headers }: PlainRequest): boolean {
  return Object.entries(headers).some(
    ([name, value]) => name.startsWith("impersonate-") && value !== "",
  );
}

/**
 * Whom the headers ask to act for; undefined: nobody. Nothing is asked about the right to it.
 * Throws 400 for names that are not UTF-8.
 */
export function requestedUser(request: PlainRequest): UserInfo | undefined {
  const name = firstLine(request, "impersonate-user");
  if (name === "") return undefined;
  const uid = firstLine(request, "impersonate-uid");
  const extra = extraOf(request);
  const user = {
    name,
    groups: withStanding(name, linesOf(request, "impersonate-group")),
    ...(uid === "" ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
  const texts = [name, uid, ...user.groups, ...extra.keys(), ...[...extra.values()].flat()];
  if (texts.every((text) => text.isWellFormed())) return user;
  throw badRequest("impersonation headers must be valid UTF-8");
}

function extraOf(request: PlainRequest): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const header of Object.keys(request.headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...linesOf(request, header)]);
  }
  return extra;
}

/** Decodes a key as the upstream does: a key with an invalid percent-encoding is taken literally. */
function unescapeKey(key: string): string {
  if (/%(?![0-9a-f]{2})/i.test(key)) return key;
  try {
    return decodeURIComponent(key);
  } catch {
    // The encoded bytes are not UTF-8; the lone surrogate makes `wishedUser` refuse the key as not well-formed.
    return `${key}\udfff`;
  }
}

/** Returns the value of a single-valued header: its first line, as upstream. */
function firstLine({ headers, impersonateLines }: PlainRequest, key: string): string {
  return impersonateLines?.[key]?.[0] ?? ownEntry(headers, key) ?? "";
}

/** Returns the values of a header, one per line with its commas if the listener kept the lines apart; else split at commas. */
function linesOf({ headers, impersonateLines }: PlainRequest, key: string): readonly string[] {
  const joined = ownEntry(headers, key);
  if (joined === undefined) return [];
  return impersonateLines?.[key] ?? joined.split(",").map((value) => value.trim());
}

/** Adds the groups that the upstream gives to an impersonated user; the anonymous user is never authenticated. */
function withStanding(name: string, listed: readonly string[]): readonly string[] {
  const given = listed.length === 0 ? accountGroups(name) : listed;
  if (name === anonymousName) {
    return given.includes(unauthenticated) ? given : [...given, unauthenticated];
  }
  const isSaid = given.includes(authenticated) || given.includes(unauthenticated);
  return isSaid ? given : [...given, authenticated];
}

function accountGroups(name: string): readonly string[] {
  const account = serviceAccount(name);
  if (account === undefined) return [];
  return ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
}

function userQuestion(name: string): Question {
  const account = serviceAccount(name);
  if (account === undefined) return question("", "users", name);
  return { ...question("", "serviceaccounts", account.name), namespace: account.namespace };
}

const dnsLabel = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
/** Distinguishes service accounts from users as the upstream does: by valid names of namespaces and accounts. */
const accountUser = new RegExp(
  `^system:serviceaccount:(?=[^:]{1,63}:)(${dnsLabel}):(?=.{1,253}$)(${dnsLabel}(?:\\.${dnsLabel})*)$`,
);

function serviceAccount(name: string): { namespace: string; name: string } | undefined {
  const match = accountUser.exec(name);
  const [, namespace, account] = match ?? [];
  return namespace === undefined || account === undefined
    ? undefined
    : { namespace, name: account };
}

function question(group: string, resource: string, name: string): Question {
  const place = { subresource: "", namespace: "", name };
  return { verb: "impersonate", group, version: "v1", resource, ...place };
}
