/** `--authentication-token-webhook-config-file`: the webhook that reviews tokens unknown to this server. */
import { ReviewClient } from "#auth/webhooks/review-client.ts";
import { WebhookTokens } from "#auth/webhooks/webhook-tokens.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { connectReviews, type ReviewConnection } from "../authorization/review-connection.ts";
import { UsageError } from "../../shared/usage-error.ts";
import type { AuthenticationFlags } from "./flags.ts";
import { tokenObserver } from "./metrics.ts";
import { usable } from "./setup.ts";

export interface TokenWebhookSetup {
  readonly connection: ReviewConnection;
  readonly version: "v1" | "v1beta1";
  readonly cacheTtlMs: number;
}

/** Timeout of a request without a client that waits. */
const timeoutMs = 30_000;

/** Reads the flags of the webhook. Undefined: none is configured. Rejects with UsageError. */
export async function tokenWebhookSetup({
  authenticationTokenWebhookConfigFile: path,
  authenticationTokenWebhookVersion: version,
  authenticationTokenWebhookCacheTtl: cacheTtlMs,
}: AuthenticationFlags): Promise<TokenWebhookSetup | undefined> {
  if (path === undefined) return undefined;
  if (version !== "v1" && version !== "v1beta1") {
    const what = `unsupported authentication webhook version ${JSON.stringify(version)}`;
    throw new UsageError(`${what}, supported versions are "v1", "v1beta1"`);
  }
  const connection = await usable(() => connectReviews(path, timeoutMs));
  return { connection, version, cacheTtlMs };
}

interface TokenWebhookDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
}

export function webhookTokens(
  { clock, log, metrics }: TokenWebhookDeps,
  { connection, version, cacheTtlMs }: TokenWebhookSetup,
  apiAudiences: readonly string[],
): WebhookTokens {
  const client = new ReviewClient({ clock, send: connection.send }, { timeoutMs });
  const observer = tokenObserver(metrics);
  return new WebhookTokens({ clock, log, client, observer }, { version, cacheTtlMs, apiAudiences });
}
