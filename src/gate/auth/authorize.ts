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
    authorize: (attributes: Attributes) => askFrom(authorizers, 0, attributes, []),
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
  reasons: string[],
): Soon<Decision> {
  for (let at = from; at < authorizers.length; at++) {
    const answer = authorizers[at]?.authorize(attributes);
    if (answer instanceof Promise) {
      return answer.then(
        (decision) =>
          concluded(decision, reasons) ?? askFrom(authorizers, at + 1, attributes, reasons),
      );
    }
    const decided = answer === undefined ? undefined : concluded(answer, reasons);
    if (decided !== undefined) return decided;
  }
  return { allowed: false, denied: false, reason: reasons.join("\n") };
}

/** Undefined: it has no opinion, and its reason is kept. */
function concluded(decision: Decision, reasons: string[]): Decision | undefined {
  if (decision.allowed || decision.denied) return decision;
  if (decision.reason !== "") reasons.push(decision.reason);
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
