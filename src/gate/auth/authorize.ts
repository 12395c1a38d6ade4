/** Asks the authorizers in order. The first that allows or denies decides. If none does, the request is denied. */
import { aggregateText } from "#api/validation/aggregate.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, Soon } from "./auth.ts";
import { groups } from "./groups.ts";

/** Joins the reasons of all authorizers without an opinion, one per line, as upstream. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize: (attributes: Attributes) => askFrom(authorizers, 0, attributes, noOpinions()),
    rulesFor(user: UserInfo, namespace: string) {
      const answers = authorizers.map((authorizer) => authorizer.rulesFor(user, namespace));
      const errors = answers.flatMap(({ error }) => (error === undefined ? [] : [error]));
      return {
        rules: answers.flatMap((answer) => answer.rules),
        incomplete: answers.some((answer) => answer.incomplete),
        ...(errors.length === 0 ? {} : { error: aggregateText(errors) }),
      };
    },
  };
}

/** Returns the decision synchronously as long as each authorizer does. Most requests need only data in memory. */
function askFrom(
  authorizers: readonly Authorizer[],
  from: number,
  attributes: Attributes,
  opinions: NoOpinions,
): Soon<Decision> {
  for (let at = from; at < authorizers.length; at++) {
    const answer = authorizers[at]?.authorize(attributes);
    if (answer instanceof Promise) {
      return answer.then(
        (decision) =>
          concluded(decision, opinions) ?? askFrom(authorizers, at + 1, attributes, opinions),
      );
    }
    const decided = answer === undefined ? undefined : concluded(answer, opinions);
    if (decided !== undefined) return decided;
  }
  const { reasons, errors } = opinions;
  const none = { allowed: false, denied: false, reason: reasons.join("\n") };
  return errors.length === 0 ? none : { ...none, error: aggregateText(errors) };
}

/** Reasons and errors of the authorizers that had no opinion. */
interface NoOpinions {
  readonly reasons: string[];
  readonly errors: string[];
}

function noOpinions(): NoOpinions {
  return { reasons: [], errors: [] };
}

/** Returns the decision if it allows or denies. Otherwise keeps its reason and error, and returns undefined. */
function concluded(decision: Decision, { reasons, errors }: NoOpinions): Decision | undefined {
  if (decision.allowed || decision.denied) return decision;
  if (decision.reason !== "") reasons.push(decision.reason);
  if (decision.error !== undefined) errors.push(decision.error);
  return undefined;
}

/** Allows everything to system:masters, independent of bindings, so that broken bindings can be repaired. */
export const mastersAuthorizer: Authorizer = {
  authorize: ({ user }) => ({
    allowed: user.groups.includes(groups.masters),
    denied: false,
    reason: "",
  }),
  rulesFor: () => ({ rules: [], incomplete: false }),
};

/** Upstream's AlwaysAllow. */
export const allowingAuthorizer: Authorizer = {
  authorize: () => ({ allowed: true, denied: false, reason: "" }),
  rulesFor: () => ({
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
    incomplete: false,
  }),
};

/** Upstream's AlwaysDeny. It has no opinion, so the authorizers after it are asked, too. */
export const denyingAuthorizer: Authorizer = {
  authorize: () => ({ allowed: false, denied: false, reason: "Everything is forbidden." }),
  rulesFor: () => ({ rules: [], incomplete: false }),
};
