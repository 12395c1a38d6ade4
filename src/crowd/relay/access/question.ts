/** Authorization question to the upstream about a user: the attributes of a SubjectAccessReview. */
import type { UserInfo } from "#platform/http.ts";

/** A field is "" when the request does not have it. */
export interface Question {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface Authorizer {
  /** Throws 403 when the upstream denies the request, 503 when it cannot be asked. */
  authorize(user: UserInfo, question: Question): Promise<void>;
}
