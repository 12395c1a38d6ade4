/**
 * Authenticates bearer tokens by a TokenReview at another server.
 *
 * Holds  a user needs `authenticated: true` and a name, and is valid only for requested audiences: those of the answer,
 *        or the API server's own when the answer names none. Equal concurrent questions share one review.
 * Bounds `rememberedMax` answers by digest, each for `cacheTtlMs`; failures are not remembered. A token longer than
 *        `tokenLengthMax` belongs to no user.
 * After  k8s.io/apiserver plugin/pkg/authenticator/token/webhook/webhook.go, 1.36.
 */
import { createHash } from "node:crypto";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { Soon, TokenAuthenticator, TokenResult } from "../auth.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { withAuthenticated } from "../groups.ts";
import { type ReviewClient, ReviewError } from "./review-client.ts";

/** Observer with the meaning of upstream's token cache metrics. Each member may be absent. */
export interface TokenObserver {
  readonly requested?: (status: "hit" | "miss", seconds: number) => void;
  /** @returns a function to call with the outcome. */
  readonly fetching?: () => (status: "ok" | "error") => void;
}

interface WebhookTokensDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: ReviewClient;
  readonly observer?: TokenObserver;
}

interface WebhookTokensOptions {
  /** Version of TokenReview. */
  readonly version: "v1" | "v1beta1";
  /** Lifetime of a remembered answer. 0: no answer is remembered. */
  readonly cacheTtlMs: number;
  readonly apiAudiences: readonly string[];
}

const rememberedMax = 4_096;
const tokenLengthMax = 65_536;

export class WebhookTokens implements TokenAuthenticator {
  readonly #deps: WebhookTokensDeps;
  readonly #options: WebhookTokensOptions;
  readonly #remembered = new BoundedCache<{
    readonly result: TokenResult;
    readonly untilMs: number;
  }>({ entriesMax: rememberedMax });
  /** By question: the call in progress. The client bounds their number. */
  readonly #asking = new Map<string, Promise<TokenResult>>();

  constructor(deps: WebhookTokensDeps, options: WebhookTokensOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  authenticateToken(token: string, audiences: readonly string[]): Soon<TokenResult> {
    if (token.length > tokenLengthMax) return { kind: "none" };
    const wanted = audiences.length > 0 ? audiences : this.#options.apiAudiences;
    const key = createHash("sha256")
      .update(JSON.stringify([wanted, token]))
      .digest("base64");
    const { clock, observer } = this.#deps;
    const known = this.#remembered.get(key);
    if (known !== undefined && clock.monotonicMs() < known.untilMs) {
      observer?.requested?.("hit", 0);
      return known.result;
    }
    const startMs = clock.monotonicMs();
    const asked = this.#asking.get(key) ?? this.#ask(key, token, wanted);
    return asked.finally(() =>
      observer?.requested?.("miss", (clock.monotonicMs() - startMs) / 1_000),
    );
  }

  #ask(key: string, token: string, wanted: readonly string[]): Promise<TokenResult> {
    const asked = this.#review(token, wanted)
      .then((result) => {
        if (result.kind !== "rejected") this.#remember(key, result);
        return result;
      })
      .finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  #remember(key: string, result: TokenResult): void {
    const { cacheTtlMs } = this.#options;
    if (cacheTtlMs <= 0) return;
    this.#remembered.set(key, { result, untilMs: this.#deps.clock.monotonicMs() + cacheTtlMs });
  }

  async #review(token: string, wanted: readonly string[]): Promise<TokenResult> {
    const { client, log, observer } = this.#deps;
    const { version, apiAudiences } = this.#options;
    const done = observer?.fetching?.();
    try {
      const status = await client.ask({
        kind: "TokenReview",
        apiVersion: `authentication.k8s.io/${version}`,
        metadata: {},
        spec: { token, ...(wanted.length === 0 ? {} : { audiences: wanted }) },
        status: { user: {} },
      });
      const result = resultOf(status, wanted, apiAudiences);
      done?.("ok");
      return result;
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      done?.("error");
      log.error("the token webhook did not answer", { error: error.message });
      return { kind: "rejected", message: error.message };
    }
  }
}

/** @throws ReviewError for an answer of another form. */
function resultOf(
  status: Readonly<Record<string, unknown>>,
  wanted: readonly string[],
  apiAudiences: readonly string[],
): TokenResult {
  const { authenticated = false, error = "", audiences: named, user } = status;
  if (typeof authenticated !== "boolean" || typeof error !== "string") throw odd();
  const answered = textsOf(named);
  const from = answered.length > 0 ? answered : apiAudiences;
  const audiences = wanted.filter((audience) => from.includes(audience));
  if (audiences.length === 0) return { kind: "none" };
  if (authenticated) return { kind: "user", user: userOf(user), audiences };
  return error === "" ? { kind: "none" } : { kind: "rejected", message: error };
}

function userOf(value: unknown): UserInfo {
  if (typeof value !== "object" || value === null) throw odd();
  const { username, uid = "", groups, extra } = value as Readonly<Record<string, unknown>>;
  if (typeof username !== "string" || typeof uid !== "string") throw odd();
  if (username === "") throw new ReviewError("the user of the review has no name", "error");
  const more = Object.entries(extra ?? {}).map(([key, values]) => [key, textsOf(values)] as const);
  return withAuthenticated({
    name: username,
    ...(uid === "" ? {} : { uid }),
    groups: textsOf(groups),
    ...(more.length === 0 ? {} : { extra: Object.fromEntries(more) }),
  });
}

function textsOf(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const isList = Array.isArray(value) || value === undefined || value === null;
  if (!isList || !list.every((each) => typeof each === "string")) throw odd();
  return list;
}

function odd(): ReviewError {
  return new ReviewError("the status of the review has fields of another type", "error");
}
