/** The questions plugins ask about rights; the server answers them from its authorizers. */
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
  /** At once from memory, or later from a webhook. */
  isAllowed(question: AccessQuestion): boolean | Promise<boolean>;
  /** The refusal of a role or binding that holds more than its writer does, or undefined. */
  escalation(write: PolicyWrite): ApiError | undefined | Promise<ApiError | undefined>;
}
