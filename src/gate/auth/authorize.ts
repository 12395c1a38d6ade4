/**
 * May they: authorizers asked in order. The first that allows or denies decides; if none does, no.
 */
import { aggregateText } from "#api/validation/aggregate.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, Soon } from "./auth.ts";
import { groups } from "./groups.ts";

/** The reasons of all authorizers without opinion are joined, one per line, as upstream. */
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

/** At once as long as each answers at once: most requests ask only what is in memory. */
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

/** What those said that did not decide. */
interface NoOpinions {
  readonly reasons: string[];
  readonly errors: string[];
}

function noOpinions(): NoOpinions {
  return { reasons: [], errors: [] };
}

/** Undefined: it has no opinion, and what it said is kept. */
function concluded(decision: Decision, { reasons, errors }: NoOpinions): Decision | undefined {
  if (decision.allowed || decision.denied) return decision;
  if (decision.reason !== "") reasons.push(decision.reason);
  if (decision.error !== undefined) errors.push(decision.error);
  return undefined;
}

/** system:masters may do everything, independent of bindings: the way in when those are broken. */
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

/** Upstream's AlwaysDeny, which has no opinion: those that follow it are asked, too. */
export const denyingAuthorizer: Authorizer = {
  authorize: () => ({ allowed: false, denied: false, reason: "Everything is forbidden." }),
  rulesFor: () => ({ rules: [], incomplete: false }),
};
