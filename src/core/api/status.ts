/**
 * Status: the one form in which every Kubernetes error leaves the server, as data.
 *
 * Texts, reasons and codes are upstream's (apimachinery pkg/api/errors). `ApiError` is thrown by
 * registry, admission and handlers; `server/status.ts` turns it into bytes.
 */
import { given } from "#base/given.ts";
import type { GroupResource } from "./object.ts";
import { qualifiedResource } from "./object.ts";

export type StatusReason =
  | ""
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "ServerTimeout"
  | "Timeout"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "InternalError"
  | "Expired"
  | "ServiceUnavailable"
  /** Not in upstream: the server stores the kind but does not implement the operation (501). */
  | "NotImplemented";

interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** As upstream, the resource for most reasons (`pods`), but the Kind for Invalid. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** An expected error of a request; contains the whole Status for the client. */
export class ApiError extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? status.reason ?? "");
    this.name = "ApiError";
    this.status = status;
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): StatusReason {
    return this.status.reason ?? "";
  }
}

export function failure(
  code: number,
  reason: StatusReason,
  message: string,
  details?: StatusDetails,
): ApiError {
  return new ApiError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...given({ details }),
    code,
  });
}

function resourceDetails(gr: GroupResource, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(gr.group === "" ? {} : { group: gr.group }),
    kind: gr.resource,
  };
}

export function notFound(gr: GroupResource, name: string): ApiError {
  const text = `${qualifiedResource(gr)} "${name}" not found`;
  return failure(404, "NotFound", text, resourceDetails(gr, name));
}

/** 404 for a path without a served resource, with upstream's special text. */
export function noSuchPath(): ApiError {
  return failure(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(gr: GroupResource, name: string): ApiError {
  const text = `${qualifiedResource(gr)} "${name}" already exists`;
  return failure(409, "AlreadyExists", text, resourceDetails(gr, name));
}

export function conflict(gr: GroupResource, name: string, why: string): ApiError {
  const text = `Operation cannot be fulfilled on ${qualifiedResource(gr)} "${name}": ${why}`;
  return failure(409, "Conflict", text, resourceDetails(gr, name));
}

export const conflictModified =
  "the object has been modified; please apply your changes to the latest version and try again";

export function forbidden(gr: GroupResource, name: string, why: string): ApiError {
  const subject = name === "" ? qualifiedResource(gr) : `${qualifiedResource(gr)} "${name}"`;
  return failure(403, "Forbidden", `${subject} is forbidden: ${why}`, resourceDetails(gr, name));
}

export function badRequest(message: string): ApiError {
  return failure(400, "BadRequest", message);
}

export function internalError(message: string): ApiError {
  return failure(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

/** Converts anything thrown to a Status. Whatever is not an ApiError is a bug or an environment failure: 500 with its text, as upstream. */
export function toStatus(error: unknown): Status {
  if (error instanceof ApiError) return error.status;
  return internalError(error instanceof Error ? error.message : String(error)).status;
}

export function expiredError(message: string, continueToken?: string): ApiError {
  const error = failure(410, "Expired", message);
  if (continueToken === undefined) return error;
  return new ApiError({ ...error.status, metadata: { continue: continueToken } });
}

/** 413, for bytes or for the number of parts. */
export function tooLarge(why: string): ApiError {
  return failure(413, "RequestEntityTooLarge", `Request entity too large: ${why}`);
}

/** 429; the client should wait `retryAfterSeconds`. */
export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  return failure(429, "TooManyRequests", message, { retryAfterSeconds });
}

/** One validation error; `invalid` makes the 422 for all of them. */
export interface FieldError {
  /** Upstream's cause reasons: FieldValueRequired, FieldValueInvalid, FieldValueNotSupported ... */
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueForbidden"
    | "FieldValueDuplicate"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueNotFound"
    | "FieldValueTypeInvalid"
    | "InternalError";
  /** The path in upstream's form: `spec.containers[0].name`. */
  readonly field: string;
  /** The text after the path: `Required value: must have a name`. */
  readonly message: string;
}

/** Maximum errors in a Status, which contains each twice. Upstream lists all. */
const findingsMax = 1_000;

/** 422 as upstream words it; `errors` must not be empty. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const told = errors.length > findingsMax ? errors.slice(0, findingsMax) : errors;
  const texts = [...new Set(told.map((e) => `${e.field}: ${e.message}`))];
  if (told.length < errors.length) texts.push(`and ${errors.length - told.length} more`);
  const list = texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  const qualified = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return failure(422, "Invalid", `${qualified} "${name}" is invalid: ${list}`, {
    ...(name === "" ? {} : { name }),
    ...(kind.group === "" ? {} : { group: kind.group }),
    ...(kind.kind === "" ? {} : { kind: kind.kind }),
    causes: told.map((e) => ({ reason: e.reason, message: e.message, field: e.field })),
  });
}
