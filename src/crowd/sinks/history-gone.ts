/** How an API server says that a revision is not among those that it can still send. */
import { ApiError } from "#api/status.ts";
import { apiErrorOf, isStatus } from "#client/transport.ts";

/** Whether the watch cannot begin at its resourceVersion, because that is compacted or has not been reached. */
export function isHistoryGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.code === 410) return true;
  const causes = error.status.details?.causes ?? [];
  return causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}

/** Returns the error that a watch's ERROR event carries. */
export function errorOf(object: unknown): ApiError {
  return apiErrorOf(isStatus(object) ? (object.code ?? 500) : 500, object, undefined);
}
