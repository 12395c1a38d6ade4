/**
 * An exchange carries one API request to a server and returns the parsed answer. `direct.ts` and
 * `rest-client.ts` implement it. `verbs.ts` makes a Client of any exchange, so all clients behave alike.
 *
 * In     a request whose path is decoded and whose body is plain data.
 * Out    the parsed object, or ApiError with the Status as the server worded it.
 */
import type { AnyObject } from "#api/object.ts";
import type { Status, StatusReason } from "#api/status.ts";
import { ApiError } from "#api/status.ts";
import type { WatchedEvent } from "./client.ts";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query: string;
  readonly body: object | undefined;
  readonly contentType: string;
  readonly accept: string;
  readonly signal: AbortSignal | undefined;
  /** The built-in kind of the resource, which may be encoded as protobuf. Undefined: only JSON. */
  readonly kind: TypeMeta | undefined;
  /** Kind of the body if the body does not contain it. */
  readonly bodyKind?: TypeMeta | undefined;
  /** Objects of the answer are read-only, so a transport may decode them lazily. */
  readonly isLazy: boolean;
  /** Limit of the answer's body; absent: the transport's own. */
  readonly bodyBytesMax?: number;
}

/** The error for an answer longer than the caller's limit. */
export function tooLongAnswer(bodyBytesMax: number): Error {
  return new Error(`answer is larger than ${bodyBytesMax} bytes`);
}

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Transport {
  /** @returns the parsed JSON body, or the text of another body. */
  call(request: ApiRequest): Promise<unknown>;
  watch(
    request: ApiRequest,
    deliver: (events: readonly WatchedEvent<AnyObject>[]) => void,
  ): Promise<void>;
}

/** The ApiError for an answer with `status` >= 400. As in client-go, a body that is not a Status is quoted. */
export function apiErrorOf(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
): ApiError {
  if (isStatus(body)) return new ApiError(withRetryAfter(body, status, retryAfter));
  const text = typeof body === "string" && body !== "" ? body.trim() : `status ${status}`;
  const made: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: text,
    reason: reasonOf(status),
    code: status,
  };
  return new ApiError(withRetryAfter(made, status, retryAfter));
}

export function isStatus(body: unknown): body is Status {
  return typeof body === "object" && body !== null && "kind" in body && body.kind === "Status";
}

function withRetryAfter(status: Status, code: number, retryAfter: string | undefined): Status {
  const seconds = retryAfter === undefined ? Number.NaN : Number(retryAfter);
  const known = status.details?.retryAfterSeconds !== undefined || !Number.isFinite(seconds);
  if (known) return status.code === undefined ? { ...status, code } : status;
  return { ...status, code, details: { ...status.details, retryAfterSeconds: seconds } };
}

const reasons: Readonly<Record<number, StatusReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function reasonOf(status: number): StatusReason {
  return reasons[status] ?? "";
}
