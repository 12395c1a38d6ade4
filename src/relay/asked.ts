/** A request on its way: which door it came in by, for whom, and what that is to an authorizer. */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { RequestInfo } from "#server/request-info.ts";
import type { Question } from "./access.ts";
import type { Caller, Door } from "./door.ts";
import { reviewed, type StreamReviewDeps } from "./stream-review.ts";

export interface Asked {
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  readonly door: Door;
  readonly caller: Caller;
}

export function question(info: RequestInfo, query: URLSearchParams): Question {
  const { verb, group, version, resource, subresource, namespace, name } = info;
  const fieldSelector = query.get("fieldSelector") ?? "";
  const labelSelector = query.get("labelSelector") ?? "";
  const asked = { verb, group, version, resource, subresource, namespace, name };
  return verb === "get" ? asked : { ...asked, fieldSelector, labelSelector };
}

/** The answer; while it is a stream, who reads it is asked about again. */
export function reviewedAnswer(
  reviews: StreamReviewDeps,
  response: PlainResponse,
  { request, door }: Asked,
  questions: readonly Question[],
): PlainResponse {
  const review = async (): Promise<void> => {
    // The credential first: a token may have been revoked, a certificate may have run out.
    const caller = await door.caller(request);
    for (const asked of questions) await door.authorize(caller, asked);
  };
  return reviewed(reviews, response, review);
}
