/** What an authorizer's decision is for the audit event, and for a caller that is refused. */
import type { Attributes, Decision } from "#auth/auth.ts";
import type { AuditEvent } from "./audit/event.ts";
import { authorizationError } from "#auth/forbidden.ts";

/** Answered as plain text. */
export class AuthorizationFailure extends Error {}

/** An authorizer that could not be asked has decided nothing, as upstream tells it. */
export function annotateDecision(
  audit: AuditEvent | undefined,
  { allowed, reason, error }: Decision,
): void {
  if (audit === undefined) return;
  const isDecided = allowed || error === undefined;
  if (isDecided) audit.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
  audit.annotate("authorization.k8s.io/reason", isDecided ? reason : "internal error");
}

/** Where an authorizer could not be asked, nobody knows whether the request may pass: 500, as upstream. */
export function notAllowed(
  path: string,
  attributes: Attributes,
  { reason, error }: Decision,
): Error {
  if (error === undefined) return authorizationError(attributes, reason);
  return new AuthorizationFailure(`Internal Server Error: ${JSON.stringify(path)}: ${error}`);
}
