/**
 * Acting for somebody. Towards the upstream: headers that say for whom the relay asks, under its own
 * credential. From a client that wants to be somebody else (`kubectl --as`): each wish is authorised
 * as the upstream would, then the client is that user, and nothing of its headers is passed on.
 */
import { dictionary, ownEntry } from "#base/own.ts";
import { badRequest } from "#api/status.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Access, Question } from "./access.ts";

const extraPrefix = "impersonate-extra-";

export function impersonationHeaders(
  user: UserInfo,
): Readonly<Record<string, string | readonly string[]>> {
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": user.name };
  if (user.groups.length > 0) headers["impersonate-group"] = user.groups;
  if (user.uid !== undefined && user.uid !== "") headers["impersonate-uid"] = user.uid;
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    headers[`${extraPrefix}${headerKey(key)}`] = values;
  }
  return headers;
}

/** Header names lose their case and take no slash: such characters are percent-encoded, as client-go does. */
function headerKey(key: string): string {
  return key.replace(/[^a-z0-9._-]/g, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

/** Who the request acts for: `user`, or whom it asks to be and may. Throws 400 and 403. */
export async function actingUser(
  access: Access,
  user: UserInfo,
  request: PlainRequest,
): Promise<UserInfo> {
  const { headers } = request;
  const name = headers["impersonate-user"];
  const others = Object.keys(headers).some((key) => key.startsWith("impersonate-"));
  if (name === undefined) {
    if (!others) return user;
    throw badRequest("impersonation of groups, uids and extras needs a user to impersonate");
  }
  const wished = userOf(name, request);
  await access.authorize(user, userQuestion(name));
  // Groups that go with the name were not wished for.
  const groups = headers["impersonate-group"] === undefined ? [] : wished.groups;
  for (const group of groups) await access.authorize(user, question("", "groups", group));
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

/** Whom the headers ask to act for; undefined: nobody. Nothing is asked about the right to it. */
export function wishedUser(request: PlainRequest): UserInfo | undefined {
  const name = request.headers["impersonate-user"];
  return name === undefined ? undefined : userOf(name, request);
}

function userOf(name: string, request: PlainRequest): UserInfo {
  const { headers } = request;
  const listed =
    headers["impersonate-group"] === undefined ? undefined : linesOf(request, "impersonate-group");
  const uid = headers["impersonate-uid"];
  const extra = dictionary<readonly string[]>();
  for (const key of Object.keys(headers)) {
    if (!key.startsWith(extraPrefix)) continue;
    extra[decodeURIComponent(key.slice(extraPrefix.length))] = linesOf(request, key);
  }
  return {
    name,
    groups: listed ?? impliedGroups(name),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra: { ...extra } }),
  };
}

/** Values line by line, commas included, where the rim kept the lines apart. */
function linesOf({ headers, impersonateLines }: PlainRequest, key: string): readonly string[] {
  return (
    impersonateLines?.[key] ??
    (ownEntry(headers, key) ?? "").split(",").map((value) => value.trim())
  );
}

function impliedGroups(name: string): readonly string[] {
  const account = serviceAccount(name);
  if (account === undefined) return ["system:authenticated"];
  return [
    "system:serviceaccounts",
    `system:serviceaccounts:${account.namespace}`,
    "system:authenticated",
  ];
}

function userQuestion(name: string): Question {
  const account = serviceAccount(name);
  if (account === undefined) return question("", "users", name);
  return { ...question("", "serviceaccounts", account.name), namespace: account.namespace };
}

function serviceAccount(name: string): { namespace: string; name: string } | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const [, namespace, account] = match ?? [];
  return namespace === undefined || account === undefined
    ? undefined
    : { namespace, name: account };
}

function question(group: string, resource: string, name: string): Question {
  const place = { subresource: "", namespace: "", name };
  return { verb: "impersonate", group, version: "v1", resource, ...place };
}
