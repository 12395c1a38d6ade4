/** The admission and conversion of objects beyond the built-in kinds and plugins, and the connections to other servers. */
import { ResourceCatalog } from "#apiserver/catalog.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { given } from "#base/given.ts";
import type { Aggregator } from "#extension/aggregation/aggregator.ts";
import { serveDefinitions } from "#extension/definitions/definitions.ts";
import { rulesWith } from "#extension/definitions/rules/rules.ts";
import type { Policies } from "#extension/policies/plugins.ts";
import type { Webhooks } from "#extension/webhooks/plugins.ts";
import { createLister } from "#registry/lister.ts";
import type { ServerAccess } from "./access.ts";
import { openAggregator } from "./aggregation.ts";
import type { SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import type { Parts } from "../shared/parts.ts";
import { openPolicies } from "./policies.ts";
import type { Ways } from "./ways.ts";
import { openConversion, openWebhooks, type WebhookAccess } from "./webhooks.ts";
import type { PlaneOptions } from "./options.ts";
import type { Storage } from "./storage.ts";

export interface Extensions {
  readonly catalog: ResourceCatalog;
  readonly webhooks: Webhooks;
  readonly policies: Policies;
  readonly aggregator: Aggregator;
}

interface ExtensionDeps extends Storage, Ways {
  readonly access: ServerAccess;
}

export async function openExtensions(
  host: SupervisedHost,
  options: PlaneOptions,
  { registry, metrics, threads, access, refuses }: ExtensionDeps,
  parts: Parts,
): Promise<Extensions> {
  const { runner } = threads;
  const lookup = createLister(registry);
  const catalog = new ResourceCatalog(registry, options.resources ?? builtinResources());
  const deps = { registry, lookup, metrics, authorizer: access.authorizer, refuses, runner };
  const reached = { ...deps, ...webhookAccess(options) };
  const webhooks = await parts.open("webhooks", () => openWebhooks(host, reached), {
    close: (opened) => opened.close(),
  });
  const policies = openPolicies({ ...deps, clock: host.clock });
  await openDefinitions(host, { ...reached, catalog }, parts);
  webhooks.serve(catalog);
  policies.serve(catalog);
  const frontProxy = options.pki.frontProxyClient;
  const aggregated = { catalog, lookup, metrics, frontProxy, refuses };
  const aggregator = openAggregator(host, aggregated, options.aggregation ?? {});
  return { catalog, webhooks, policies, aggregator };
}

async function openDefinitions(
  host: SupervisedHost,
  deps: Parameters<typeof openConversion>[1] & { readonly catalog: ResourceCatalog },
  parts: Parts,
): Promise<void> {
  const { converterOf } = await parts.open("conversion", () => openConversion(host, deps), {
    close: (opened) => opened.close(),
  });
  const rulesOf = rulesWith(deps.runner);
  const custom = { ...host, ...deps, converterOf, rulesOf, ...limits.customResources };
  await parts.open("definitions", () => serveDefinitions(custom, builtinResources()), {
    close: (opened) => opened.close(),
  });
}

function webhookAccess({ webhooks: open, admission }: PlaneOptions): Partial<WebhookAccess> {
  const credentials = admission?.credentials;
  return {
    ...given({ open, credentials }),
  };
}
