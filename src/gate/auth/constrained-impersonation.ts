/**
 * Constrained impersonation (ConstrainedImpersonation, on in 1.36; KEP-5284): the right to act as another user for some
 * requests only. A mode requires `impersonate-on:MODE:VERB` for the request itself and `impersonate:MODE` for each part
 * of the requested identity: name, UID, groups, extra.
 *
 * associated-node  a service account whose token names a node, as that node; no other part
 * arbitrary-node   any node, by its user name alone
 * serviceaccount   any service account, by its user name alone
 * user-info        any other user, with groups, UID and extra
 *
 * After  k8s.io/apiserver pkg/endpoints/filters/impersonation (mode.go), without its caches: a check is in memory.
 */
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer } from "./auth.ts";
import { groups, nodeNameOf, serviceAccountGroups, splitServiceAccount } from "./groups.ts";

/** The user that the headers name, with nothing added to it. */
export interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

type Granted =
  /** `groups`: for a node or a service account, the groups that it always has. */
  | { readonly kind: "granted"; readonly groups: readonly string[]; readonly constraint: string }
  | { readonly kind: "refused"; readonly attributes: Attributes; readonly reason: string };

type Refused = Extract<Granted, { readonly kind: "refused" }>;

const authenticationGroup = "authentication.k8s.io";
const nodeNameKey = "authentication.kubernetes.io/node-name";
const keysKey = "authentication.kubernetes.io/associated-node-keys";
/** From this number of checks on, the right to all values is checked first. */
const manyChecks = 4;

interface Mode {
  readonly name: string;
  applies(wanted: Wanted, requestor: UserInfo): boolean;
}

const modes: readonly Mode[] = [
  {
    name: "associated-node",
    applies: (wanted, requestor) => isNameAlone(wanted) && isOnNode(requestor, wanted.name),
  },
  {
    name: "arbitrary-node",
    applies: (wanted) => isNameAlone(wanted) && nodeNameOf(wanted.name) !== undefined,
  },
  {
    name: "serviceaccount",
    applies: (wanted) => isNameAlone(wanted) && splitServiceAccount(wanted.name) !== undefined,
  },
  {
    name: "user-info",
    applies: ({ name }) =>
      nodeNameOf(name) === undefined && splitServiceAccount(name) === undefined,
  },
];

function isNameAlone({ uid, groups: given, extra }: Wanted): boolean {
  return uid === "" && given.length === 0 && Object.keys(extra).length === 0;
}

function isOnNode(requestor: UserInfo, name: string): boolean {
  const node = nodeNameOf(name);
  if (node === undefined || splitServiceAccount(requestor.name) === undefined) return false;
  const values = requestor.extra?.[nodeNameKey] ?? [];
  return values.length === 1 && values[0] === node;
}

/**
 * Checks the modes in turn. `request`: attributes of the request by the real user. Returns the first refusal when no
 * mode grants the impersonation. Undefined: no mode applies.
 */
export async function grantConstrained(
  wanted: Wanted,
  request: Attributes,
  authorizer: Authorizer,
): Promise<Granted | undefined> {
  let refused: Refused | undefined;
  for (const mode of modes) {
    if (!mode.applies(wanted, request.user)) continue;
    const answer = await new Check(mode.name, request, authorizer).run(wanted);
    if (answer === undefined) return granted(mode.name, wanted);
    refused ??= answer;
  }
  return refused;
}

function granted(mode: string, wanted: Wanted): Granted {
  const constraint = `impersonate:${mode}`;
  if (nodeNameOf(wanted.name) !== undefined) {
    return { kind: "granted", groups: [groups.nodes], constraint };
  }
  const account = splitServiceAccount(wanted.name);
  const own = account === undefined ? wanted.groups : serviceAccountGroups(account.namespace);
  return { kind: "granted", groups: own, constraint };
}

/** Checks of one mode. */
class Check {
  readonly #mode: string;
  readonly #request: Attributes;
  readonly #authorizer: Authorizer;

  constructor(mode: string, request: Attributes, authorizer: Authorizer) {
    this.#mode = mode;
    this.#authorizer = authorizer;
    const isAssociated = mode === "associated-node";
    // This right belongs to all of the account's pods on any node, so the extra fields that tell pods apart are removed.
    this.#request = isAssociated ? { ...request, user: withoutExtra(request.user) } : request;
  }

  /** Runs the checks. Returns the refusal. Undefined: granted. */
  async run(wanted: Wanted): Promise<Refused | undefined> {
    const verb = `impersonate-on:${this.#mode}:${this.#request.verb}`;
    return (
      (await this.#ask({ ...this.#request, verb })) ??
      (await this.#askName(wanted.name)) ??
      (wanted.uid === "" ? undefined : await this.#askPart("uids", wanted.uid)) ??
      (await this.#askGroups(wanted.groups)) ??
      (await this.#askExtra(wanted.extra))
    );
  }

  async #ask(attributes: Attributes): Promise<Refused | undefined> {
    const { allowed, reason } = await this.#authorizer.authorize(attributes);
    return allowed ? undefined : { kind: "refused", attributes, reason };
  }

  #part(resource: string, name: string, more: Partial<Attributes> = {}): Attributes {
    return {
      user: this.#request.user,
      verb: `impersonate:${this.#mode}`,
      path: "",
      isResourceRequest: true,
      group: authenticationGroup,
      version: "v1",
      resource,
      subresource: "",
      namespace: "",
      name,
      ...more,
    };
  }

  #askPart(
    resource: string,
    name: string,
    more: Partial<Attributes> = {},
  ): Promise<Refused | undefined> {
    return this.#ask(this.#part(resource, name, more));
  }

  #askName(user: string): Promise<Refused | undefined> {
    const node = nodeNameOf(user);
    if (node !== undefined) {
      return this.#askPart("nodes", this.#mode === "associated-node" ? "*" : node);
    }
    const account = splitServiceAccount(user);
    if (account === undefined) return this.#askPart("users", user);
    return this.#askPart("serviceaccounts", account.name, { namespace: account.namespace });
  }

  async #askGroups(given: readonly string[]): Promise<Refused | undefined> {
    const refuse = (name: string, what: string): Refused => {
      const reason = `impersonating the ${what} group is not allowed`;
      return { kind: "refused", attributes: this.#part("groups", name), reason };
    };
    if (given.includes("")) return refuse("", "empty string");
    if (given.includes(groups.masters)) return refuse(groups.masters, groups.masters);
    if (given.length >= manyChecks && (await this.#askPart("groups", "*")) === undefined)
      return undefined;
    return this.#askEach(given.map((name) => this.#part("groups", name)));
  }

  async #askExtra(extra: Wanted["extra"]): Promise<Refused | undefined> {
    const fault = extraFault(extra);
    if (fault !== undefined) {
      return { kind: "refused", attributes: this.#part("userextras", ""), reason: fault };
    }
    const parts = Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((value) => this.#part("userextras", value, { subresource })),
    );
    const all = { subresource: "*" };
    if (parts.length >= manyChecks && (await this.#askPart("userextras", "*", all)) === undefined) {
      return undefined;
    }
    return this.#askEach(parts);
  }

  async #askEach(parts: readonly Attributes[]): Promise<Refused | undefined> {
    for (const part of parts) {
      const refused = await this.#ask(part);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }
}

function withoutExtra(user: UserInfo): UserInfo {
  return { ...user, extra: { [keysKey]: Object.keys(user.extra ?? {}).sort() } };
}

const extraKey =
  /^(?=[^/]{1,253}\/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Checks that keys are domain-prefixed paths in lower case, and that keys and values are not empty. */
function extraFault(extra: Wanted["extra"]): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === "") return "impersonating the empty string key in extra is not allowed";
    if (!extraKey.test(key)) {
      return `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${JSON.stringify(key)}: must be a domain-prefixed path (such as "acme.io/foo")`;
    }
    if (values.includes("")) {
      return "impersonating the empty string value in extra is not allowed";
    }
  }
  return undefined;
}
