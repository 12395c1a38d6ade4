/**
 * Reads a call's head from the header block of its stream, before any message: whether it is a call, the
 * encoding of its messages, and how long its client will wait. Refusals use the words of grpc-go.
 */
import { ownEntry } from "#base/own.ts";
import { Code, GrpcError } from "#wire/grpc.ts";

export interface CallHead {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly encoding: string;
  readonly timeout: string;
  /** The authorization field; "": absent. */
  readonly authorization: string;
  /** The length that the head declares for the body, if any. */
  readonly contentLength: number | undefined;
}

/** Refusal with an HTTP status, before gRPC begins. */
interface HeadRefused {
  readonly status: number;
  readonly code: Code;
  readonly message: string;
}

export function isGrpc({ contentType }: CallHead): boolean {
  if (!contentType.startsWith("application/grpc")) return false;
  const next = contentType["application/grpc".length];
  return next === undefined || next === "+" || next === ";";
}

/** The refusal of a stream that is not valid gRPC, where only gRPC is served. */
export function refuseHead(head: CallHead): HeadRefused | undefined {
  if (!isGrpc(head)) {
    const message = `invalid gRPC request content-type ${quotePath(head.contentType)}`;
    return { status: 415, code: Code.invalidArgument, message };
  }
  if (head.method !== "POST") {
    const message = `Received a HEADERS frame with :method ${quotePath(head.method)} which should be POST`;
    return { status: 405, code: Code.internal, message };
  }
  const wrong = timeoutWrong(head.timeout);
  if (wrong === undefined) return undefined;
  const message = `malformed grpc-timeout: transport: ${wrong}`;
  return { status: 400, code: Code.internal, message };
}

const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const timeoutLengthMax = 9;

function timeoutWrong(timeout: string): string | undefined {
  if (timeout === "") return undefined;
  if (timeout.length < 2) return `timeout string is too short: ${quotePath(timeout)}`;
  if (timeout.length > timeoutLengthMax) return `timeout string is too long: ${quotePath(timeout)}`;
  if (!Object.hasOwn(unitMs, timeout.at(-1) ?? "")) {
    return `timeout unit is not recognized: ${quotePath(timeout)}`;
  }
  const digits = timeout.slice(0, -1);
  if (/^\d+$/.test(digits)) return undefined;
  return `strconv.ParseUint: parsing ${quotePath(digits)}: invalid syntax`;
}

/** The call's timeout; Infinity when the client set none. */
export function timeoutMs({ timeout }: CallHead): number {
  if (timeout === "") return Number.POSITIVE_INFINITY;
  return Number(timeout.slice(0, -1)) * (ownEntry(unitMs, timeout.at(-1) ?? "") ?? 0);
}

export function deadlineExceeded(): GrpcError {
  return new GrpcError(Code.deadlineExceeded, "context deadline exceeded");
}

function quotePath(text: string): string {
  return JSON.stringify(text);
}
