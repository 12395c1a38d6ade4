/** Records an authorizer's decision in the audit event, and makes the error for a refused caller. */
import type { Attributes, Decision } from "#auth/auth.ts";
import type { AuditEvent } from "./audit/event.ts";
import { authorizationError } from "#auth/forbidden.ts";

/** An error that is answered as plain text. */
export class AuthorizationFailure extends Error {}

/** Annotates the decision. A failed authorizer has made no decision, as upstream. */
export function annotateDecision(
  audit: AuditEvent | undefined,
  { allowed, reason, error }: Decision,
): void {
  if (audit === undefined) return;
  const isDecided = allowed || error === undefined;
  if (isDecided) audit.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
  audit.annotate("authorization.k8s.io/reason", isDecided ? reason : "internal error");
}

/** Error of a request that is not allowed; 500 if an authorizer failed, as upstream. */
export function notAllowed(
  path: string,
  attributes: Attributes,
  { reason, error }: Decision,
): Error {
  if (error === undefined) return authorizationError(attributes, reason);
  return new AuthorizationFailure(`Internal Server Error: ${JSON.stringify(path)}: ${error}`);
}
