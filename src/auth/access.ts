/** Answers the questions admission asks about rights: the shape is that of `admission/access.ts`. */
import type { ApiError } from "#api/status.ts";
import type { UserInfo } from "#platform/http.ts";
import type { EscalationDeps, PolicyWrite } from "./escalation.ts";
import { escalationError } from "./escalation.ts";

export interface AccessAnswers {
  allowed(question: {
    readonly user: UserInfo;
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    readonly namespace: string;
    readonly name: string;
  }): boolean;
  escalation(write: PolicyWrite): ApiError | undefined;
}

export function accessAnswers(deps: EscalationDeps): AccessAnswers {
  return {
    allowed: (question) =>
      deps.authorizer.authorize({
        ...question,
        path: "",
        resourceRequest: true,
        version: "*",
        subresource: "",
      }).allowed,
    escalation: (write) => escalationError(deps, write),
  };
}
