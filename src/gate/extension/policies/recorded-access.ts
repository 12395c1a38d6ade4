/**
 * Records the answers of `authorizer` in one request. Every check is made once, and its answer is available to a thread
 * afterwards.
 *
 * Holds  it answers for the user of the request, or for a service account that the expression names. An evaluation
 *        never waits: a check that needs a webhook ends it with AccessPending, and it starts again with the answer.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Authorizer, Decision, Soon } from "#auth/auth.ts";
import type {
  AccessCheck,
  AccessDecision,
  DecideAccess,
} from "#cel/libraries/authorizer-library.ts";
import type { KnownAccess } from "../expressions/policy-tasks.ts";

type User = AdmissionRequest["user"];

/** Interrupts an evaluation. The caller calls `learn(check)` and evaluates again. */
export class AccessPending extends Error {
  readonly check: AccessCheck;

  constructor(check: AccessCheck) {
    super("an authorizer is asked");
    this.check = check;
  }
}

export class RecordedAccess {
  readonly #known = new Map<string, KnownAccess>();
  readonly #ask: (check: AccessCheck) => Soon<Decision>;

  constructor(authorizer: Authorizer, asker: User) {
    this.#ask = decisions(authorizer, asker);
  }

  /** @throws AccessPending */
  readonly decide: DecideAccess = (check) => {
    const key = JSON.stringify(check);
    const known = this.#known.get(key);
    if (known !== undefined) return known.decision;
    const answer = this.#ask(check);
    // `learn` repeats the call. The authorizer then answers from memory, or with the request that is already in progress.
    if (answer instanceof Promise) throw new AccessPending(check);
    return this.#keep(key, check, answer);
  };

  async learn(check: AccessCheck): Promise<void> {
    const key = JSON.stringify(check);
    if (!this.#known.has(key)) this.#keep(key, check, await this.#ask(check));
  }

  #keep(key: string, check: AccessCheck, decision: AccessDecision): AccessDecision {
    this.#known.set(key, { check, decision });
    return decision;
  }

  get known(): readonly KnownAccess[] {
    return [...this.#known.values()];
  }
}

function decisions(authorizer: Authorizer, asker: User): (check: AccessCheck) => Soon<Decision> {
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
