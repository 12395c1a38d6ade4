/** Classifies failed calls: whether and when the caller may retry. */
import { ApiError } from "#api/status.ts";

/** The delay that a 429 or 503 asks for, in milliseconds. */
export function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const seconds = error.status.details?.retryAfterSeconds;
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Whether the failure may be temporary: overload, a timeout, a broken connection. Other errors are final. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof Error && "code" in error;
  const code = error.status.code ?? 500;
  return code === 429 || code >= 500;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status.code === 404;
}

export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "Conflict";
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "AlreadyExists";
}
