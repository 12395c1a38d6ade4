/**
 * An authorizer that asks another server by SubjectAccessReview.
 *
 * Holds  without an answer `failurePolicy` decides: no opinion or a denial, never an approval. The decision carries the
 *        error. Equal concurrent questions share one review.
 * Bounds `rememberedMax` answers, each kept as long as its kind allows. Questions with attributes longer than
 *        `questionLengthMax` are not remembered, because users choose the attributes.
 * After  k8s.io/apiserver plugin/pkg/authorizer/webhook/webhook.go, 1.36.
 */
import type { Attributes, Authorizer, Decision, Rules, Soon } from "../auth.ts";
import { BoundedCache } from "../bounded-cache.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { accessSpec, type AccessSpec, type compileCondition, matchesAll } from "./access-review.ts";
import { type ReviewClient, ReviewError } from "./review-client.ts";

/** Observer with the meaning of upstream's metrics. Each member may be absent. */
export interface AuthorizerObserver {
  readonly evaluated?: (
    name: string,
    result: "success" | "timeout" | "error",
    seconds: number,
  ) => void;
  readonly failedOpen?: (name: string, result: "timeout" | "error") => void;
  readonly matched?: (
    name: string,
    outcome: "match" | "no-match" | "error",
    seconds: number,
  ) => void;
}

interface WebhookAuthorizerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: ReviewClient;
  readonly observer?: AuthorizerObserver;
}

export interface WebhookAuthorizerOptions {
  readonly name: string;
  /** Version of SubjectAccessReview. */
  readonly version: "v1" | "v1beta1";
  /** Lifetime of a remembered decision that allows. 0: it is not remembered. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly failurePolicy: "NoOpinion" | "Deny";
  readonly conditions: readonly Exclude<ReturnType<typeof compileCondition>, string>[];
}

const rememberedMax = 8_192;
const questionLengthMax = 10_000;
const noOpinion: Decision = { allowed: false, denied: false, reason: "" };

export class WebhookAuthorizer implements Authorizer {
  readonly #deps: WebhookAuthorizerDeps;
  readonly #options: WebhookAuthorizerOptions;
  readonly #remembered = new BoundedCache<{
    readonly decision: Decision;
    readonly untilMs: number;
  }>({ entriesMax: rememberedMax });
  /** By question: the call in progress. The client bounds their number. */
  readonly #asking = new Map<string, Promise<Decision>>();

  constructor(deps: WebhookAuthorizerDeps, options: WebhookAuthorizerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  authorize(attributes: Attributes): Soon<Decision> {
    const spec = accessSpec(attributes);
    const excluded = this.#excluded(spec);
    if (excluded !== undefined) return excluded;
    const question = JSON.stringify(spec);
    const known = this.#remembered.get(question);
    if (known !== undefined && this.#deps.clock.monotonicMs() < known.untilMs)
      return known.decision;
    const asking = this.#asking.get(question);
    if (asking !== undefined) return asking;
    const asked = this.#ask(spec, question, isShort(attributes)).finally(() =>
      this.#asking.delete(question),
    );
    this.#asking.set(question, asked);
    return asked;
  }

  rulesFor(): Rules {
    const error = "webhook authorizer does not support user rule resolution";
    return { rules: [], incomplete: true, error };
  }

  /** Returns the decision if the conditions exclude the request. Undefined: the webhook must be called. */
  #excluded(spec: AccessSpec): Decision | undefined {
    const { conditions, name } = this.#options;
    if (conditions.length === 0) return undefined;
    const { clock, observer } = this.#deps;
    const startMs = clock.monotonicMs();
    const outcome = matchesAll(conditions, spec);
    observer?.matched?.(name, outcome.kind, (clock.monotonicMs() - startMs) / 1_000);
    if (outcome.kind === "match") return undefined;
    return outcome.kind === "no-match" ? noOpinion : this.#onError(outcome.message);
  }

  async #ask(spec: AccessSpec, question: string, isRemembered: boolean): Promise<Decision> {
    const { clock, client, log, observer } = this.#deps;
    const { name, failurePolicy } = this.#options;
    const startMs = clock.monotonicMs();
    const observe = (result: "success" | "timeout" | "error"): void =>
      observer?.evaluated?.(name, result, (clock.monotonicMs() - startMs) / 1_000);
    try {
      const decision = decisionOf(await client.ask(this.#review(spec)));
      observe("success");
      if (isRemembered && decision.error === undefined) this.#remember(question, decision);
      return decision;
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      observe(error.kind);
      if (failurePolicy === "NoOpinion") observer?.failedOpen?.(name, error.kind);
      log.error("an authorization webhook did not answer", { name, error: error.message });
      return this.#onError(error.message);
    }
  }

  #onError(error: string): Decision {
    return { allowed: false, denied: this.#options.failurePolicy === "Deny", reason: "", error };
  }

  #remember(question: string, decision: Decision): void {
    const { authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const ttlMs = decision.allowed ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttlMs <= 0) return;
    const untilMs = this.#deps.clock.monotonicMs() + ttlMs;
    this.#remembered.set(question, { decision, untilMs });
  }

  #review(spec: AccessSpec): object {
    const { version } = this.#options;
    const { groups, ...rest } = spec;
    // v1beta1 calls the groups `group`.
    const own = version === "v1" || groups === undefined ? spec : { ...rest, group: groups };
    return {
      kind: "SubjectAccessReview",
      apiVersion: `authorization.k8s.io/${version}`,
      metadata: {},
      spec: own,
      status: { allowed: false },
    };
  }
}

function isShort(attributes: Attributes): boolean {
  const { namespace, verb, group, version, resource, subresource, name, path } = attributes;
  const all = [namespace, verb, group, version, resource, subresource, name, path];
  return all.reduce((sum, each) => sum + each.length, 0) < questionLengthMax;
}

/** Reads the decision. Only `true` allows; allowed and denied together is a denial. @throws ReviewError for an answer of another form. */
function decisionOf(status: Readonly<Record<string, unknown>>): Decision {
  const { allowed = false, denied = false, reason = "" } = status;
  if (typeof allowed !== "boolean" || typeof denied !== "boolean" || typeof reason !== "string") {
    throw new ReviewError("the status of the review has fields of another type", "error");
  }
  if (!allowed || !denied) return { allowed, denied, reason };
  const error = "webhook subject access review returned both allow and deny response";
  return { allowed: false, denied: true, reason, error };
}
