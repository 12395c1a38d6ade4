/** The way to admission webhooks: transports, limits, and what they are resolved by. */
import type { Lister } from "#api/lister.ts";
import { serviceTargets } from "#extension/service-target.ts";
import type { OpenTransport } from "#extension/webhooks/trusts.ts";
import { createWebhooks, type Webhooks, type WebhooksDeps } from "#extension/webhooks/plugins.ts";
import { hostAuthorities, hostsTransport } from "#platform/node/http/http-hosts.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#server/metric-set.ts";
import { changesOf } from "./access.ts";
import type { Host } from "./host.ts";
import * as limits from "./limits.ts";

export interface WebhookAccess {
  readonly open?: OpenTransport;
  readonly credentials?: WebhooksDeps["credentials"];
}

interface Parts extends WebhookAccess {
  readonly lookup: Lister;
  readonly registry: OpenRegistry;
  readonly metrics: MetricSet;
}

const registration = "admissionregistration.k8s.io";

export function openWebhooks(host: Host, parts: Parts): Webhooks {
  const { registry, lookup, metrics, open = openTransport, credentials } = parts;
  const changes = (group: string, ...resources: readonly string[]): (() => number) =>
    changesOf(
      registry,
      resources.map((resource) => ({ group, resource })),
    );
  const ofServices = changes("", "services");
  const ofSlices = changes("discovery.k8s.io", "endpointslices");
  const version = (): number => Math.max(ofServices(), ofSlices());
  return createWebhooks(
    {
      ...host,
      lookup,
      metrics,
      versions: {
        mutating: changes(registration, "mutatingwebhookconfigurations"),
        validating: changes(registration, "validatingwebhookconfigurations"),
      },
      services: serviceTargets({ lookup, random: host.random, version }),
      open,
      ...(credentials === undefined ? {} : { credentials }),
    },
    limits.webhookCalls,
  );
}

const openTransport: OpenTransport = ({ ca = hostAuthorities, ...shown }) =>
  hostsTransport({ ca, ...shown, limits: limits.webhookConnections });
