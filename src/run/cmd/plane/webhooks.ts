/** The connections to admission and conversion webhooks: transports, limits, and the resolution of Services. */
import type { Lister } from "#api/lister.ts";
import type { Authorizer } from "#auth/auth.ts";
import { given } from "#base/given.ts";
import { ConversionMetrics } from "#extension/conversion/metrics.ts";
import { webhookConverters } from "#extension/conversion/webhook-converter.ts";
import type { ConverterOf } from "#extension/definitions/conversion.ts";
import type { ExpressionRunner } from "#extension/expressions/runner.ts";
import { webhookConditionEvaluator } from "#extension/policies/webhook-conditions.ts";
import { serviceTargets, type ServiceTargets } from "#extension/service-target.ts";
import { WebhookCaller } from "#extension/webhooks/caller.ts";
import type { OpenTransport } from "#extension/webhooks/trusts.ts";
import { createWebhooks, type Webhooks, type WebhooksDeps } from "#extension/webhooks/plugins.ts";
import {
  type HostsCredentials,
  hostAuthorities,
  type RefusesAddress,
} from "#platform/node/http/http-hosts.ts";
import { http2HostsTransport } from "#platform/node/http/http2-hosts.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { changesOf } from "./access.ts";
import type { Host } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";

export interface WebhookAccess {
  readonly open?: OpenTransport;
  readonly credentials?: WebhooksDeps["credentials"];
}

interface Parts extends WebhookAccess {
  readonly lookup: Lister;
  readonly registry: OpenRegistry;
  readonly metrics: MetricSet;
  readonly authorizer: Authorizer;
  readonly runner: ExpressionRunner;
  readonly refuses: RefusesAddress;
}

const registration = "admissionregistration.k8s.io";

export function openWebhooks(host: Host, parts: Parts): Webhooks {
  const {
    registry,
    lookup,
    metrics,
    open = openTransport(parts),
    credentials,
    authorizer,
    runner,
  } = parts;
  const changes = (group: string, resource: string): (() => number) =>
    changesOf(registry, [{ group, resource }]);
  return createWebhooks(
    {
      ...host,
      lookup,
      metrics,
      versions: {
        mutating: changes(registration, "mutatingwebhookconfigurations"),
        validating: changes(registration, "validatingwebhookconfigurations"),
      },
      services: targetsOf(host, parts),
      open,
      evaluator: webhookConditionEvaluator({ ...host, authorizer, runner }),
      ...given({ credentials }),
    },
    limits.webhookCalls,
  );
}

function targetsOf({ random }: Host, { registry, lookup }: Parts): ServiceTargets {
  return serviceTargets({
    lookup,
    random,
    version: changesOf(registry, [
      { group: "", resource: "services" },
      { group: "discovery.k8s.io", resource: "endpointslices" },
    ]),
  });
}

/** Opens the calls of conversion webhooks, which get no credentials. */
export function openConversion(host: Host, parts: Parts): OpenedConversion {
  const { clock, random } = host;
  const { open = openTransport(parts), metrics } = parts;
  const services = targetsOf(host, parts);
  const caller = new WebhookCaller({ clock, services, open }, limits.conversionCalls);
  const deps = { caller, random, clock, metrics: new ConversionMetrics(metrics) };
  return {
    converterOf: webhookConverters(deps, limits.conversionBatches),
    close: () => caller.close(),
  };
}

interface OpenedConversion {
  readonly converterOf: ConverterOf;
  /** Closes idle connections. */
  close(): void;
}

function openTransport({ refuses }: Parts): OpenTransport {
  return ({ ca = hostAuthorities, ...shown }) => {
    const credentials: HostsCredentials = { ca, ...shown };
    const shared = { refuses, limits: limits.webhookConnections };
    return http2HostsTransport({ credentials: () => credentials, ...shared });
  };
}
