/**
 * Calls one webhook for one request, and derives the outcome from its answer or failure.
 *
 *   allowed                        its verdict
 *   refused                        the webhook's own status
 *   failed, failurePolicy Ignore   "ignored", counted
 *   failed, failurePolicy Fail     500 with the reason
 *   dry run with side effects      400, whatever the failurePolicy
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import { ApiError, failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { nextTurn } from "#platform/pace.ts";
import type { Random } from "#platform/random.ts";
import type { Candidate } from "../matching/rule-index.ts";
import { CallError, callFailed, denied, noDryRun } from "./call-error.ts";
import type { WebhookCaller } from "./caller.ts";
import type { Hook, HookType } from "./hook.ts";
import type { Call, WebhookMetrics } from "./metrics.ts";
import { reviewBody } from "./review.ts";
import { readVerdict, type Verdict } from "./verdict.ts";

export interface AskDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caller: WebhookCaller;
  readonly metrics: WebhookMetrics;
}

interface Question {
  readonly type: HookType;
  readonly request: AdmissionRequest;
  readonly candidate: Candidate<Hook>;
  /** Bytes of the review after its uid (review.ts). */
  readonly tail: Uint8Array;
  /** Applies an allowing verdict. If it throws a CallError, the webhook has failed. */
  readonly use: (verdict: Verdict) => void | Promise<void>;
}

/** @throws ApiError when the request is refused. */
export async function askWebhook(deps: AskDeps, question: Question): Promise<"used" | "ignored"> {
  const { clock, metrics } = deps;
  const { type, request, candidate } = question;
  const hook = candidate.entry;
  const startMs = clock.monotonicMs();
  const call = (code: number, rejected: boolean): Call => {
    const seconds = (clock.monotonicMs() - startMs) / 1000;
    return { hook, type, operation: request.operation, seconds, code, rejected };
  };
  try {
    await askOnce(deps, question);
    metrics.called(call(200, false));
    return "used";
  } catch (error) {
    if (error instanceof CallError) return afterFailure(deps, question, error, call);
    const refusal = error instanceof Refusal;
    const rejected = call(refusal ? error.status.code : 0, true);
    metrics.rejected(rejected, refusal ? "no_error" : "apiserver_internal_error");
    metrics.called(rejected);
    throw refusal ? error.status : error;
  }
}

/** The webhook refused the request. */
class Refusal extends Error {
  readonly status: ApiError;

  constructor(status: ApiError) {
    super(status.message);
    this.status = status;
  }
}

/** Size of a long answer. Reading one of this size takes up to a millisecond; a longer one is processed in turns. */
const longBytesMin = 8 * 1024;

async function askOnce(
  { clock, random, caller }: AskDeps,
  { type, request, candidate, tail, use }: Question,
): Promise<void> {
  const hook = candidate.entry;
  const { name, reviewVersion: version } = hook;
  if (request.dryRun && !hook.allowsDryRun) throw noDryRun(name);
  if (version === undefined) {
    const known = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    throw new CallError(`could not create admission objects: ${known}`, 400);
  }
  const uid = random.uuid();
  const answer = await caller.call(hook, reviewBody(version, uid, tail), request.ending);
  const isLong = answer.length > longBytesMin;
  if (isLong) await nextTurn(clock);
  const verdict = readVerdict(answer, { type, version, uid });
  if (isLong) await nextTurn(clock);
  for (const [key, value] of Object.entries(verdict.annotations))
    request.annotate?.(`${name}/${key}`, value);
  for (const warning of verdict.warnings) request.warn(warning);
  if (isLong) await nextTurn(clock);
  if (!verdict.allowed) throw new Refusal(denied(name, verdict.result));
  await use(verdict);
}

function afterFailure(
  { metrics, log }: AskDeps,
  { request: { ending }, candidate }: Question,
  error: CallError,
  call: (code: number, rejected: boolean) => Call,
): "ignored" {
  const hook = candidate.entry;
  const isCanceled = ending?.signal.aborted === true;
  const failed = call(error.code, !hook.failsOpen);
  metrics.called(failed);
  const fields = { webhook: hook.name, configuration: hook.configuration, error: error.message };
  if (!hook.failsOpen) {
    if (!isCanceled) metrics.rejected(failed, "calling_webhook_error");
    log.warn("webhook failed, request refused", fields);
    throw callFailed(hook.name, error);
  }
  if (isCanceled) throw timedOut();
  metrics.failedOpen(failed);
  log.warn("webhook failed, request goes on", fields);
  return "ignored";
}

/** Returns the error for a request that itself has ended, so that its client receives no answer. */
export function timedOut(): ApiError {
  const text = "Timeout: request did not complete within requested timeout";
  return failure(504, "Timeout", text, {});
}
