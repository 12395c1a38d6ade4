/** What API errors mean to controllers, in addition to `client/api-errors.ts`. */
import { ApiError } from "#api/status.ts";

/** The namespace is terminating: it takes no new objects, and its deletion deletes the owner too. */
export function isNamespaceGoing(error: unknown): boolean {
  const causes = error instanceof ApiError ? (error.status.details?.causes ?? []) : [];
  return causes.some((cause) => cause.reason === "NamespaceTerminating");
}

/** The object is gone, or another object has its name: there is nothing left to delete. */
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
