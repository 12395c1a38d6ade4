/**
 * May they: authorizers asked in order. The first that allows or denies decides; if none does, no.
 */
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision } from "./auth.ts";
import { groups } from "./groups.ts";

/** The reasons of all authorizers without opinion are joined, one per line, as upstream. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize(attributes: Attributes): Decision {
      const reasons: string[] = [];
      for (const authorizer of authorizers) {
        const decision = authorizer.authorize(attributes);
        if (decision.allowed || decision.denied) return decision;
        if (decision.reason !== "") reasons.push(decision.reason);
      }
      return { allowed: false, denied: false, reason: reasons.join("\n") };
    },
    rulesFor(user: UserInfo, namespace: string) {
      const answers = authorizers.map((authorizer) => authorizer.rulesFor(user, namespace));
      return {
        rules: answers.flatMap((answer) => answer.rules),
        incomplete: answers.some((answer) => answer.incomplete),
      };
    },
  };
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
