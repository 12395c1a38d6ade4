/** The two webhook plugins of a server, with their callers. */
import { given } from "#base/given.ts";
import type { AdmissionPlugin } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { ConditionEvaluator } from "../matching/conditions.ts";
import { type CallerDeps, type CallerLimits, WebhookCaller } from "./caller.ts";
import { webhookConditions } from "./condition-check.ts";
import { HookSource } from "./hook.ts";
import { WebhookMetrics } from "./metrics.ts";
import { mutatingWebhooks } from "./mutating.ts";
import { validatingWebhooks } from "./validating.ts";

export interface WebhooksDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lookup: Lister;
  readonly metrics: MetricSet;
  /** Numbers that change whenever a configuration of that type may have changed. */
  readonly versions: {
    readonly mutating: () => number;
    readonly validating: () => number;
  };
  readonly services: CallerDeps["services"];
  readonly open: CallerDeps["open"];
  readonly credentials?: {
    readonly mutating?: CallerDeps["credentials"];
    readonly validating?: CallerDeps["credentials"];
  };
  /** Evaluates matchConditions. Absent: configurations with matchConditions are refused. */
  readonly evaluator?: ConditionEvaluator;
}

export interface Webhooks {
  readonly mutating: AdmissionPlugin;
  readonly validating: AdmissionPlugin;
  /** Checks the webhook configurations themselves. */
  readonly conditions: AdmissionPlugin;
  /** Sets the catalog before the first request. The catalog is made after admission. */
  serve(catalog: ResourceCatalog): void;
  /** Closes idle connections. */
  close(): void;
}

export function createWebhooks(deps: WebhooksDeps, limits: CallerLimits): Webhooks {
  let catalog: ResourceCatalog | undefined;
  const metrics = new WebhookMetrics(deps.metrics);
  const made = (["mutating", "validating"] as const).map((type) => {
    const credentials = deps.credentials?.[type];
    const more = given({ credentials });
    const { clock, services, open } = deps;
    const caller = new WebhookCaller({ clock, services, open, ...more }, limits);
    const served = () => catalog?.infos() ?? [];
    const evaluator = given({ evaluator: deps.evaluator });
    const hooks = { lookup: deps.lookup, version: deps.versions[type], served, ...evaluator };
    const source = new HookSource(hooks, type);
    const find: ResourceCatalog["find"] = (...path) => catalog?.find(...path);
    return { caller, source, deps: { ...deps, caller, metrics, catalog: { find } } };
  });
  const [mutating, validating] = made as [(typeof made)[0], (typeof made)[0]]; // of two types
  inFlight(deps.metrics, { mutating: mutating.caller, validating: validating.caller });
  return {
    mutating: mutatingWebhooks(mutating.deps, mutating.source),
    validating: validatingWebhooks(validating.deps, validating.source),
    conditions: webhookConditions(deps.evaluator),
    serve(served) {
      catalog = served;
      for (const { source } of made) served.onChange(() => source.forget());
    },
    close() {
      for (const { caller } of made) caller.close();
    },
  };
}

/** Adds a metric of this server's own. Upstream has no limit to observe. */
function inFlight(metrics: MetricSet, callers: Readonly<Record<string, WebhookCaller>>): void {
  const name = "pilothouse_admission_webhook_calls_in_flight";
  metrics.gaugeOf(name, "Calls to webhooks under way.", ["webhook", "type"], function* () {
    for (const [type, caller] of Object.entries(callers))
      for (const [[id = ""], calls] of caller.inFlight()) yield [[id, type], calls] as const;
  });
}
