/** The API server of a plane: admission and fairness over its storage and extensions. */
import { given } from "#base/given.ts";
import { nodeTurnHost } from "#platform/node/http/process-turns.ts";
import { type Admission } from "#admission/admission.ts";
import { createAdmission } from "#admission/chain.ts";
import { AllocatorMetrics } from "#admission/allocator-metrics.ts";
import { AdmissionMetrics } from "#admission/metrics.ts";
import { PodSecurityMetrics } from "#admission/pod-security-metrics.ts";
import { defaultPlugins } from "#admission/default-plugins.ts";
import type { ServiceNumbers } from "#admission/service-addresses.ts";
import type { ResourceQuota } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { apiLimits } from "#apiserver/deps.ts";
import { flowDumps } from "#apiserver/flow-dumps.ts";
import { type ApiServer, createApiServer } from "#apiserver/server.ts";
import { readCertificateRequest } from "#auth/certificate-request.ts";
import { must } from "#base/assert.ts";
import { Ledger } from "#platform/ledger.ts";
import { heapBytesMax } from "#platform/node/heap.ts";
import { createLister } from "#registry/lister.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import { type Gate, type GateConfig, gateDefaults } from "#flowcontrol/gate.ts";
import type { HealthCheck } from "#server/health.ts";
import { offloadedYaml } from "#wire/yaml-reader.ts";
import { changesOf, type ServerAccess } from "./access.ts";
import type { SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { measuredGate, serverLoad } from "./load.ts";
import type { ServingOptions } from "../shared/serving-flags.ts";
import type { Parts } from "../shared/parts.ts";
import { processFlags } from "../shared/shown-flags.ts";
import { version } from "../shared/user-agent.ts";
import type { Ways } from "./ways.ts";
import type { Extensions } from "./extensions.ts";
import { withHollowMetrics } from "./hollow-metrics.ts";
import type { PlaneOptions } from "./options.ts";
import type { Storage } from "./storage.ts";

interface ServerDeps extends Storage, Extensions, Pick<Ways, "kubelets"> {
  readonly access: ServerAccess;
  readonly serviceNumbers: ServiceNumbers;
  readonly startChecks: readonly HealthCheck[];
}

export async function openApiServer(
  host: SupervisedHost,
  options: PlaneOptions,
  deps: ServerDeps,
  parts: Parts,
): Promise<ApiServer> {
  const { registry, access, metrics, stores, threads, kubelets } = deps;
  const gate = await parts.open("fairness", () => makeGate(host, options, deps), {
    close: (opened) => opened.close(),
  });
  return createApiServer(
    {
      ...host,
      turnTimes: nodeTurnHost,
      registry,
      catalog: deps.catalog,
      lookup: createLister(registry),
      authenticator: access.authenticator,
      authorizer: access.authorizer,
      admission: planeAdmission(host, options, deps),
      ledger: new Ledger(limits.ledgerLimits(heapBytesMax())),
      metrics,
      version,
      flags: processFlags(),
      startChecks: deps.startChecks,
      ...(options.loops === "none" ? {} : { runsBeside: ["scheduler", "controller-manager"] }),
      storeProblems: stores.problems(),
      readinessChecks: options.encryption?.checks ?? [],
      issuer: access.issuer,
      gate,
      documents: () => [flowDumps({ gate, clock: host.clock })],
      yaml: offloadedYaml(threads.yaml),
      tokens: access.authenticator,
      tokenMinter: access.mintToken,
      kubelets: kubelets.kubelets,
      delegates: delegatesOf(options, deps),
      ...given({
        audit: options.audit,
        tracer: options.tracing?.tracer,
        metricsPage: options.metricsPage,
      }),
    },
    timesOf(options),
  );
}

/** A plane with hollow nodes serves their metrics itself. */
function delegatesOf(options: PlaneOptions, { aggregator, registry }: ServerDeps) {
  const { loops, nodes, stages, hasHollowMetrics = true } = options;
  if (loops === "none" || nodes === 0 || !hasHollowMetrics) return aggregator;
  return withHollowMetrics(aggregator, createLister(registry), stages?.rules.usage);
}

function timesOf({ serving }: PlaneOptions): Parameters<typeof createApiServer>[1] {
  const watchMsMin = serving?.watchMsMin ?? apiLimits.watchMsMin;
  return {
    requestTimeoutMs: serving?.requestTimeoutMs ?? limits.requestTimeoutMs,
    limits: { ...apiLimits, watchMsMin },
  };
}

function planeAdmission(
  host: SupervisedHost,
  options: PlaneOptions,
  { registry, access, catalog, policies, webhooks, serviceNumbers, metrics }: ServerDeps,
): Admission {
  const lookup = createLister(registry);
  const numbers = options.serviceAddresses ?? limits.serviceAddresses;
  const plugins = defaultPlugins({
    ...host,
    lookup,
    podSecurityMetrics: new PodSecurityMetrics(metrics),
    allocations: new AllocatorMetrics(metrics, lookup, numbers.range),
    access: access.access,
    readCertificateRequest,
    updateQuota: (quota) => updateQuota(registry, quota),
    serviceAddresses: numbers,
    serviceNumbers,
    served: () => catalog.infos(),
    choice: options.admissionPlugins ?? { enable: [], disable: [] },
    settings: options.admission?.settings ?? {},
    ...(options.serving && { tolerationSeconds: options.serving.tolerationSeconds }),
    extra: [
      policies.mutating,
      webhooks.mutating,
      webhooks.conditions,
      policies.validating,
      webhooks.validating,
    ],
  });
  return createAdmission(plugins, new AdmissionMetrics(host.clock, metrics));
}

/** Writes a quota's status like a controller, on condition that the object is unchanged since admission read it. */
async function updateQuota(registry: OpenRegistry, quota: ResourceQuota): Promise<void> {
  const info = must(resourceByPath("", "v1", "resourcequotas"), "quotas are built in");
  const { namespace = "", name = "" } = quota.metadata ?? {};
  const next = quota as AnyObject;
  await registry
    .store(info)
    .update(namespace, name, () => next, { subresource: "status", dryRun: false });
}

const flowKinds = ["flowschemas", "prioritylevelconfigurations"].map((resource) => ({
  group: "flowcontrol.apiserver.k8s.io",
  resource,
}));

function makeGate(
  host: SupervisedHost,
  { resources = builtinResources(), serving }: PlaneOptions,
  { registry, metrics }: Storage,
): Gate {
  const lookup = createLister(registry);
  const configVersion = changesOf(registry, flowKinds);
  const load = serverLoad(registry, resources);
  const config = { ...gateDefaults, ...(serving && gateConfig(serving)) };
  return measuredGate({ ...host, lookup, configVersion, load }, metrics, config);
}

/** Maximum wait in a queue. Upstream's rule: a quarter of the request's time, at most a minute. */
const queueWaitMsMax = 60_000;

function gateConfig(serving: ServingOptions): Partial<GateConfig> {
  const { seats, levelWatchesMax, userWatchesMax, requestTimeoutMs, share } = serving;
  const queueWaitMs = Math.min(requestTimeoutMs / 4, queueWaitMsMax);
  return { seats, levelWatchesMax, userWatchesMax, queueWaitMs, ...given({ share }) };
}
