/** Access checks made by plugins; the server answers them with its authorizers. */
import type { AnyObject } from "#api/object.ts";
import type { ApiError } from "#api/status.ts";
import type { UserInfo } from "#platform/http.ts";

interface AccessQuestion {
  readonly user: UserInfo;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Absent: the object itself. */
  readonly subresource?: string;
  readonly namespace: string;
  readonly name: string;
}

interface PolicyWrite {
  readonly user: UserInfo;
  /** roles, clusterroles, rolebindings or clusterrolebindings. */
  readonly resource: string;
  readonly namespace: string;
  readonly object: AnyObject;
  readonly oldObject: AnyObject | undefined;
}

export interface Access {
  /** Answered immediately from memory, or later by a webhook. */
  isAllowed(question: AccessQuestion): boolean | Promise<boolean>;
  /** The error for a role or binding with more rights than its writer has; undefined: none. */
  escalation(write: PolicyWrite): ApiError | undefined | Promise<ApiError | undefined>;
}
