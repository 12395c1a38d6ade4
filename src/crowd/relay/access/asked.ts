/** A request with its entry point, its caller, and its authorization attributes. */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import { type Place, type Target, targetOf } from "#server/place.ts";
import type { RequestInfo } from "#server/request-info.ts";
import type { Caller, EntryPoint } from "./entry-point.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import type { Question } from "./question.ts";
import { reviewStream, type StreamReviewDeps } from "./stream-review.ts";

export interface Asked {
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  readonly door: EntryPoint;
  readonly caller: Caller;
  /** Holding that is charged with the request until it is answered. */
  readonly holding: Holding;
}

/** The question to the upstream about a read, and the place to read in the mirror; both come from the same request target. */
interface AskedPlace {
  readonly question: Question;
  /** Undefined: the path does not fit the scope of the kind. */
  readonly place: Place | undefined;
}

export function askedPlace(
  kind: MirroredKind,
  info: RequestInfo,
  query: URLSearchParams,
): AskedPlace {
  const target = targetOf(info, kind.namespaced ? "namespaced" : "cluster");
  return { question: question(info, target, query), place: target.place };
}

function question(info: RequestInfo, target: Target, query: URLSearchParams): Question {
  const { verb, group, version, resource, subresource } = info;
  const fieldSelector = query.get("fieldSelector") ?? "";
  const labelSelector = query.get("labelSelector") ?? "";
  const asked = { verb, group, version, resource, subresource, ...target.asked };
  return verb === "get" ? asked : { ...asked, fieldSelector, labelSelector };
}

/** Returns the answer. For a stream, the rights of its reader are reviewed again periodically. */
export function answerReviewed(
  reviews: StreamReviewDeps,
  response: PlainResponse,
  { request, door }: Asked,
  questions: readonly Question[],
): PlainResponse {
  const review = async (): Promise<void> => {
    // The credential is checked first: a token may have been revoked, a certificate may have expired.
    const caller = await door.caller(request);
    for (const asked of questions) await door.authorize(caller, asked);
  };
  return reviewStream(reviews, response, review);
}
