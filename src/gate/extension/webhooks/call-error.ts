/** Errors of calls to webhooks. The texts are upstream's, because users search for them. */
import {
  ApiError,
  badRequest,
  failure,
  internalError,
  type Status,
  type StatusReason,
} from "#api/status.ts";

/** The webhook could not be called, or its answer cannot be used. failurePolicy decides what follows. */
export class CallError extends Error {
  /** HTTP status, or 503. For metrics. */
  readonly code: number;

  constructor(message: string, code = 503) {
    super(message);
    this.name = "CallError";
    this.code = code;
  }
}

export function callFailed(hook: string, { message }: CallError): ApiError {
  return internalError(`failed calling webhook ${JSON.stringify(hook)}: ${message}`);
}

export function noDryRun(hook: string): ApiError {
  return badRequest(`admission webhook ${JSON.stringify(hook)} does not support dry run`);
}

/** Returns the refusal from an answer's status. Absent fields are filled in. A code or status of success is not used for a refusal. */
export function denied(hook: string, result: Partial<Status> | undefined): ApiError {
  const { code = 0, message = "", reason = "" } = result ?? {};
  const said = message === "" ? reason : message;
  const by = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const text = said === "" ? `${by} without explanation` : `${by}: ${said}`;
  const error = failure(refusalCode(code), reason as StatusReason, text); // a webhook may have reasons of its own
  if (result?.details === undefined) return error;
  return new ApiError({ ...error.status, details: result.details });
}

function refusalCode(code: number): number {
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400;
}
