/**
 * `X-Pilothouse-Explain: 1`: adds a header to the answer that explains how the gate treated the request, and from where
 * it was read.
 *
 * Right   get on the path below. Of the default roles only cluster-admin has it, because the names of levels and
 *         schemas are for the operator (upstream's headers have only their UIDs). Without this right, the header only
 *         says that it is missing.
 * Cost    nothing for requests that do not ask.
 */
import type { Authorizer } from "#auth/auth.ts";
import { explanationText, type GateExplanation } from "#flowcontrol/explanation.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import { attributesOf } from "./attributes.ts";
import { targetOf } from "./place.ts";
import { requestInfo } from "./request-info.ts";

const askingHeader = "x-pilothouse-explain";
const path = "/debug/api_priority_and_fairness/explain";
const denied = `denied; needs=${encodeURIComponent(`get ${path}`)}`;

/** Source of an answer. `server`: the process itself, for paths that are not resources. */
export type AnswerSource = "cache" | "store" | "server" | "delegate" | "relay" | "upstream";
/** Index that finds the objects of an answer or the events of a watch. `none`: each one is checked. */
export type AnswerIndex = "key" | "field" | "label" | "namespace" | "none";

/** Explanation of an answer: filled while the request is handled, shown in the answer's header. */
export class Explanation {
  readonly #allowed: boolean;
  gate: GateExplanation | undefined;
  source: AnswerSource | undefined;
  index: AnswerIndex | undefined;

  constructor(allowed: boolean) {
    this.#allowed = allowed;
  }

  headers(): Readonly<Record<string, string>> {
    if (!this.#allowed) return { [askingHeader]: denied };
    const { gate, source, index } = this;
    const { queuedMs, ...facts } = gate ?? { queuedMs: 0 };
    return {
      [askingHeader]: explanationText({
        ...facts,
        queuedMs: Number(queuedMs.toFixed(1)),
        ...(source && { source }),
        ...(index && { index }),
      }),
    };
  }
}

export function isAsked({ headers }: PlainRequest): boolean {
  return headers[askingHeader] === "1";
}

/** Opens an explanation for an authenticated caller. If an authorizer fails, it is not allowed. */
export async function openExplanation(
  authorizer: Authorizer,
  user: UserInfo,
): Promise<Explanation> {
  const query = new URLSearchParams();
  const info = requestInfo("GET", path, query);
  const { allowed } = await authorizer.authorize(
    attributesOf(user, info, targetOf(info, undefined), query),
  );
  return new Explanation(allowed);
}
