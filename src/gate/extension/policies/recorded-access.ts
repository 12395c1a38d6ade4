/**
 * What `authorizer` answers in one request; every check is made once, and is known to a thread afterwards.
 *
 * Holds  it answers for the user of the request, or for a service account the expression names.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Authorizer } from "#auth/auth.ts";
import type { DecideAccess } from "#cel/libraries/authorizer-library.ts";
import type { KnownAccess } from "../expressions/policy-tasks.ts";

type User = AdmissionRequest["user"];

export class RecordedAccess {
  readonly #known = new Map<string, KnownAccess>();
  readonly decide: DecideAccess;

  constructor(authorizer: Authorizer, asker: User) {
    const ask = decisions(authorizer, asker);
    this.decide = (check) => {
      const key = JSON.stringify(check);
      const found = this.#known.get(key) ?? { check, decision: ask(check) };
      this.#known.set(key, found);
      return found.decision;
    };
  }

  get known(): readonly KnownAccess[] {
    return [...this.#known.values()];
  }
}

function decisions(authorizer: Authorizer, asker: User): DecideAccess {
  return (check) => {
    const { subject, verb } = check;
    const user = subject === undefined ? asker : accountUser(subject);
    if (check.kind === "path") {
      return authorizer.authorize({ user, verb, ...ofPath, path: check.path });
    }
    const { labelSelector: _, ...resource } = check.resource;
    const asked = { user, verb, path: "", isResourceRequest: true, version: "*", ...resource };
    return authorizer.authorize(asked);
  };
}

const ofPath = {
  isResourceRequest: false,
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

function accountUser(subject: {
  readonly namespace: string;
  readonly serviceAccount: string;
}): User {
  const { namespace, serviceAccount } = subject;
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const name = `system:serviceaccount:${namespace}:${serviceAccount}`;
  return { name, groups: [...groups, "system:authenticated"] };
}
