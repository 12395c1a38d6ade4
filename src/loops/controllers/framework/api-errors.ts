/** Classification of API errors for controllers, in addition to `client/api-errors.ts`. */
import { ApiError } from "#api/status.ts";

/** The namespace is terminating: it accepts no new objects, and the owner will be deleted too. */
export function isNamespaceGoing(error: unknown): boolean {
  const causes = error instanceof ApiError ? (error.status.details?.causes ?? []) : [];
  return causes.some((cause) => cause.reason === "NamespaceTerminating");
}

/** The object is gone, or another object has its name, so nothing remains to be deleted. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 404 || error.code === 409);
}

export function ignoreGone(error: unknown): undefined {
  if (isGone(error)) return undefined;
  throw error;
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
