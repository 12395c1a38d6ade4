/** What refusals mean to controllers, besides what `client/refusal.ts` says of them. */
import { ApiError } from "#api/status.ts";

/** The namespace is on its way out: it takes no new objects, and its end will end the owner too. */
export function isNamespaceGoing(error: unknown): boolean {
  const causes = error instanceof ApiError ? (error.status.details?.causes ?? []) : [];
  return causes.some((cause) => cause.reason === "NamespaceTerminating");
}

/** Gone, or not the one that was named by uid: nothing of ours is left to delete. */
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
