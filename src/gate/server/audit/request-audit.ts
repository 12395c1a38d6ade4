/** The audit of one request in the chain: its event, if the policy records one. */
import { ApiError, toStatus } from "#api/status.ts";
import type { PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import { isLongRunning, type RequestInfo } from "../request-info.ts";
import { isObjectAnswer, takeResponse } from "./bodies.ts";
import type { AuditEvent, AuditFacts } from "./event.ts";
import { sourceIps } from "./source-ips.ts";
import type { AuditTrail } from "./trail.ts";

export interface Received {
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  /** Wall-clock time in ms. */
  readonly receivedMs: number;
}

export function factsOf(
  { request, info, auditId, receivedMs }: Received,
  user: UserInfo | undefined,
): AuditFacts {
  return {
    auditId,
    receivedMs,
    requestUri: requestUri(request),
    info,
    user,
    sourceIps: sourceIps(request),
    userAgent: (request.headers["user-agent"] ?? "").toWellFormed(),
  };
}

/** Path and query, escaped as Go writes a decoded path: only where needed. */
function requestUri({ path, query }: Pick<PlainRequest, "path" | "query">): string {
  const isPlain = /^[\w\-./~$&+:=@,;!*'()]*$/.test(path);
  const escaped = isPlain ? path : path.toWellFormed().split("/").map(escapeSegment).join("/");
  return query === "" ? escaped : `${escaped}?${query}`;
}

function escapeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/%(24|26|2B|3A|3D|40|2C|3B)/g, (escape) =>
    decodeURIComponent(escape),
  );
}

/** Records the error that a request was refused with. */
export function noteError(event: AuditEvent, error: unknown): void {
  const { status, message, reason, details, code } = toStatus(error);
  event.status = isBug(error)
    ? {
        status: "Failure",
        message: `APIServer panic'd: ${message ?? ""}`,
        reason: "InternalError",
        code: 500,
      }
    : { status, message, reason, details, code };
}

/** Whether the error would be a panic upstream. */
export function isBug(error: unknown): boolean {
  return !(error instanceof ApiError);
}

/** Records the stages that a finished answer reaches. Await it before the answer is sent. */
export async function answered(
  trail: AuditTrail,
  event: AuditEvent,
  response: PlainResponse,
  holding: Holding,
  outcome: "answered" | "bug",
): Promise<void> {
  const isObject = isObjectAnswer(response);
  const told = isObject || outcome === "bug" ? event.status : undefined;
  event.status = { ...told, code: response.status };
  if (isObject) await takeResponse(event, response, holding);
  if (outcome === "bug") return void (await trail.stage(event, "Panic"));
  if (isLongRunning(event.facts.info)) await trail.stage(event, "ResponseStarted");
  if (!isOpen(response)) await trail.stage(event, "ResponseComplete");
}

/** Whether the answer ends later: a watch, the streams of a container. */
function isOpen({ kind }: PlainResponse): boolean {
  return kind === "stream" || kind === "events" || kind === "tunnel";
}

/** Records a request that was refused before authentication: one event, as upstream. */
export async function refusedEarly(
  trail: AuditTrail,
  received: Received,
  response: PlainResponse,
  error: unknown,
  holding: Holding,
): Promise<void> {
  const { info } = received;
  const event = trail.begin(undefined, info, () => factsOf(received, undefined));
  if (event === undefined) return;
  noteError(event, error);
  event.status = { ...event.status, code: response.status };
  await takeResponse(event, response, holding);
  await trail.stage(event, "ResponseStarted");
}
