/**
 * A whole control plane in this process: store, registry, API server, scheduler, controllers and
 * hollow nodes, the last three through the direct transport. Wiring only.
 *
 * Start  store -> caches -> handler -> listen -> bootstrap objects -> ready -> loops.
 * Stop   loops first, then the listener drains, then the store closes. Acknowledged writes are durable
 *        even when a stop is interrupted.
 */
import { createAdmission } from "#admission/chain.ts";
import type { ServiceAddressOptions, ServiceNumbers } from "#admission/service-addresses.ts";
import type { PluginChoice } from "#admission/plugin-choice.ts";
import { defaultPlugins } from "#admission/default-plugins.ts";
import { must } from "#base/assert.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceQuota } from "#api/gen/types.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import { bootstrap } from "#apiserver/bootstrap.ts";
import { type BootstrapFacts, isReachable } from "#apiserver/bootstrap-objects.ts";
import { KubernetesEndpoints } from "#apiserver/kubernetes-endpoints.ts";
import { apiLimits } from "#apiserver/deps.ts";
import { FlowControlKeeper } from "#apiserver/flow-control-keeper.ts";
import { createApiServer, type ApiServer } from "#apiserver/server.ts";
import {
  openServiceNumbers,
  type OpenServiceNumbers,
} from "#apiserver/service-numbers/service-numbers.ts";
import { ServerIdentity } from "#apiserver/server-identity.ts";
import { serveDefinitions } from "#extension/definitions/definitions.ts";
import { rulesWith } from "#extension/definitions/rules/rules.ts";
import { strategiesWithExpressions } from "#extension/expressions/written-expressions.ts";
import { readCertificateRequest } from "#auth/certificate-request.ts";
import { groups } from "#auth/groups.ts";
import { ClusterSigner } from "#auth/cluster-signer.ts";
import { signDetached } from "#auth/cluster-info-signature.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import type { Pki } from "#auth/pki-files.ts";
import type { StaticTokens } from "#auth/token-file.ts";
import type { Client } from "#client/client.ts";
import { directClient } from "#client/direct.ts";
import { controllerRoles } from "#controllers/manager.ts";
import type { SigningOptions } from "#controllers/certificates/signing.ts";
import type { ImagePatterns } from "#hollow/image-pull.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import type { OpenTransport } from "#extension/webhooks/trusts.ts";
import type { Policies } from "#extension/policies/plugins.ts";
import { policyTypeChecker } from "#extension/policies/type-checker.ts";
import type { Webhooks } from "#extension/webhooks/plugins.ts";
import { createLister } from "#registry/lister.ts";
import { MasterLeases } from "#registry/master-leases.ts";
import { RangeAllocation } from "#registry/range-allocation.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { Aggregator } from "#extension/aggregation/aggregator.ts";
import type { AuditSink } from "#server/audit.ts";
import type { MetricSet } from "#server/metric-set.ts";
import { versionInfo } from "#server/version.ts";
import { defaultProfile } from "#scheduler/profile.ts";
import { storeMetrics } from "#store/metrics.ts";
import { changesOf, type ServerAccess, serverAccess } from "./access.ts";
import type { AdmissionConfiguration } from "./admission-configuration.ts";
import { type AggregationAccess, openAggregator } from "./aggregation.ts";
import { offloadedYaml, type YamlThread } from "#wire/yaml-reader.ts";
import type { Host, SupervisedHost } from "./host.ts";
import { type KubeletAccess, openKubelets, type OpenedKubelets } from "./kubelets.ts";
import * as limits from "./limits.ts";
import { measuredGate, serverLoad } from "./load.ts";
import { type Loops, startLoops } from "./loops.ts";
import { describeCaches, describeStoreRequests } from "./cache-metrics.ts";
import { describeQueues, describeScheduler } from "./loop-metrics.ts";
import { processMetricSet } from "./process-metric-set.ts";
import { PlaneStores, type StoreOptions } from "./plane-stores.ts";
import { openPolicies } from "./policies.ts";
import { openThreads, type Threads } from "./threads.ts";
import {
  openConversion,
  type OpenedConversion,
  openWebhooks,
  type WebhookAccess,
} from "./webhooks.ts";
import { productVersion } from "./product.ts";
import type { FrontProxyTrust } from "./request-header.ts";
import { StartHooks } from "./start-hooks.ts";
import { countFailures, embeddedSupervisor } from "./supervise.ts";

export interface PlaneOptions extends StoreOptions {
  readonly pki: Pki;
  readonly host: string;
  readonly port: number;
  readonly nodes: number;
  /** Images that hollow nodes cannot pull; absent: as the room has it. */
  readonly unpullable?: ImagePatterns;
  /** History kept at least; absent: as limits.ts has it. */
  readonly compactPeriodMs?: number;
  readonly audit?: AuditSink;
  /** Lines of `--token-auth-file`. */
  readonly staticTokens?: StaticTokens;
  /** Front proxies that may name users in headers; absent: none. */
  readonly frontProxy?: FrontProxyTrust;
  /** How kubelets are reached; absent: as they say, their certificates unchecked. */
  readonly kubelet?: KubeletAccess;
  /** Instead of what `kubelet` says: the caller's own way to nodes; closed at the stop. */
  readonly kubelets?: OpenedKubelets;
  /** How aggregated API servers are reached; absent: at their endpoints, by the front proxy's certificate. */
  readonly aggregation?: AggregationAccess;
  /** Built-in kinds that are served; absent: every version of all of them. */
  readonly resources?: readonly ResourceInfo[];
  /** Absent: upstream's default plugins, and NodeRestriction. */
  readonly admissionPlugins?: PluginChoice;
  /** Configurations of plugins; absent: none. */
  readonly admission?: AdmissionConfiguration;
  /** Instead of connections over this host's network to webhooks. */
  readonly webhooks?: OpenTransport;
  /** Where a request without a credential is system:anonymous, and not 401; absent: everywhere. */
  readonly anonymousPaths?: readonly string[] | "all";
  /** What certificate requests are signed by, read at each; absent: the authority of `pki`. */
  readonly signingAuthority?: (signer: string) => IssuedCertificate;
  /** Signers that it signs for; absent: all of kubernetes.io. */
  readonly signers?: ReadonlySet<string>;
  /** The longest lifetime of such a certificate; absent: as limits.ts has it. */
  readonly signingLifetimeMs?: number;
  /** PEM of the authority that pods check this server by; absent: that of `pki`. */
  readonly rootCa?: string;
  /** Where Endpoints `kubernetes` says the server is; absent: `host`, unless that is loopback. */
  readonly advertiseAddress?: string;
  /** PEM: who is trusted to say who a client is; absent: the authority of `pki`. */
  readonly clientCa?: string;
  /** Of service account tokens; absent: as access.ts has it. */
  readonly issuer?: string;
  /** Absent: as limits.ts has them. */
  readonly serviceAddresses?: ServiceAddressOptions;
  /** Absent: as limits.ts has it. */
  readonly eventTtlSeconds?: number;
  /** Host by which this server is known to others, in an identity lease; absent: it has none. */
  readonly identity?: string;
  /** Other API servers serve the same storage: Endpoints `kubernetes` lists all that hold a master lease. */
  readonly isOneOfSeveral?: boolean;
  /** The API alone: no scheduler, controllers or nodes. Absent: all of them. */
  readonly loops?: "none";
}

export interface Plane {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  /** As cluster-admin, without a socket. */
  readonly client: Client;
  /** Resolves when every hollow node is registered; the API is ready before that. */
  readonly registered: Promise<void>;
  /** Resolves when the store had to stop (disk): the process must end. */
  readonly failed: Promise<Error>;
  stop(): Promise<void>;
}

/** A start that fails half way closes what it had opened, then rejects with the cause. */
export async function startPlane(given: Host, options: PlaneOptions): Promise<Plane> {
  const host = hostWithSupervisor(given);
  const stores = await PlaneStores.open(host, options);
  const threads = openThreads(host);
  const registry = openPlaneRegistry(host, stores, { ...options, ...threads });
  try {
    return await startOn(host, options, { stores, registry, threads });
  } catch (error) {
    await threads.close();
    await registry.close();
    await stores.close();
    throw error;
  }
}

function webhookAccess({ webhooks: open, admission }: PlaneOptions): Partial<WebhookAccess> {
  const credentials = admission?.credentials;
  return {
    ...(open === undefined ? {} : { open }),
    ...(credentials === undefined ? {} : { credentials }),
  };
}

function hostWithSupervisor(given: Host): SupervisedHost {
  const supervisor = given.supervisor ?? embeddedSupervisor(given);
  return { ...given, clock: supervisor.clock, supervisor };
}

const administrator = { name: "kubernetes-admin", groups: [groups.masters] };

interface Opened {
  readonly stores: PlaneStores;
  readonly registry: OpenRegistry;
  readonly threads: Threads;
}

async function startOn(
  host: SupervisedHost,
  options: PlaneOptions,
  { stores, registry, threads }: Opened,
): Promise<Plane> {
  const metrics = planeMetrics(stores, registry);
  const access = planeAccess(host, options, { registry, metrics });
  const { yaml, runner } = threads;
  const kubelets = options.kubelets ?? openKubelets(host, options.pki, options.kubelet ?? {});
  const start = new StartHooks();
  const own = { registry, access, metrics };
  const { webhooks, conversion, policies } = openExtensions(host, options, { ...own, runner });
  const serviceNumbers = planeServiceNumbers(host, options, { stores, registry });
  const parts = { ...own, stores, start, yaml, kubelets, webhooks, policies, serviceNumbers };
  const { server, aggregator } = makeServer(host, options, parts);
  const { catalog } = server;
  const { converterOf } = conversion;
  const rulesOf = rulesWith(runner);
  const custom = { ...host, registry, catalog, converterOf, rulesOf, ...limits.customResources };
  const definitions = serveDefinitions(custom, builtinResources());
  webhooks.serve(catalog);
  policies.serve(catalog);
  await server.ready();
  start.finish("caches");
  // Nothing is handed out before what the stored services have is reserved.
  await serviceNumbers.repair.run();
  // Clients that come before the bootstrap objects are there find an API without them, not an error.
  const listening = await listenTls(host, options, server);
  const facts = bootstrapFacts(options, listening);
  await bootstrap({ ...host, catalog: server.catalog }, facts, { controllerRoles });
  start.finish("objects");
  await serviceNumbers.repair.run();
  serviceNumbers.repair.start();
  const endpoints = kubernetesEndpoints(host, { stores, server }, facts);
  await endpoints?.start();
  const keeper = new FlowControlKeeper({ ...host, catalog: server.catalog });
  keeper.start();
  const identity = serverIdentity(host, server, options);
  await aggregator.start();
  start.finish("aggregation");
  const url = `https://${urlHost(options.host)}:${listening.address.port}`;
  const client = directClient(server.handler, administrator);
  const loops = planeLoops(host, server, access, { options, metrics });
  return {
    url,
    client,
    registered: loops?.registered ?? Promise.resolve(),
    failed: stores.failed,
    async stop() {
      server.shutdown();
      await loops?.stop();
      await endpoints?.close();
      await keeper.close();
      await serviceNumbers.repair.close();
      await identity?.close();
      await definitions.close();
      server.close();
      kubelets.kubelets.streams.cutTunnels();
      await aggregator.close();
      await listening.close(limits.shutdownMs);
      kubelets.close();
      webhooks.close();
      conversion.close();
      await threads.close();
      await registry.close();
      await stores.close();
    },
  };
}

const nodePorts = { group: "", resource: "rangeallocations" };
const masterLeases = { group: "", resource: "masterleases" };

function planeServiceNumbers(
  host: Host,
  options: PlaneOptions,
  { stores, registry }: Pick<Opened, "stores" | "registry">,
): OpenServiceNumbers {
  const ranges = options.serviceAddresses ?? limits.serviceAddresses;
  const range = `${ranges.firstNodePort}-${ranges.lastNodePort}`;
  const allocation = new RangeAllocation(stores.of(nodePorts), { range });
  const deps = { ...host, registry, lookup: createLister(registry), allocation };
  return openServiceNumbers(deps, ranges);
}

/** Undefined: none were asked for. */
function planeLoops(
  host: SupervisedHost,
  server: ApiServer,
  { mintLegacyToken }: ServerAccess,
  { options, metrics }: { readonly options: PlaneOptions; readonly metrics: MetricSet },
): Loops | undefined {
  if (options.loops === "none") return undefined;
  const { nodes, unpullable } = options;
  const loops = startLoops(host, server.handler, {
    nodes,
    ...(unpullable === undefined ? {} : { unpullable }),
    rootCa: options.rootCa ?? options.pki.authority.certificate,
    mintLegacyToken,
    certificates: certificateSigning(host, options),
    signDetached,
    checkPolicyTypes: policyTypeChecker(server.catalog),
  });
  describeScheduler(metrics, defaultProfile.schedulerName, () => loops.scheduler);
  describeQueues(metrics, () => loops.controllers);
  return loops;
}

/** Undefined: this server is alone, or others could not reach it. */
function kubernetesEndpoints(
  host: SupervisedHost,
  { stores, server }: { readonly stores: PlaneStores; readonly server: ApiServer },
  { advertise, isOneOfSeveral }: BootstrapFacts,
): KubernetesEndpoints | undefined {
  if (isOneOfSeveral !== true || !isReachable(advertise.host)) return undefined;
  const deps = {
    ...host,
    catalog: server.catalog,
    leases: new MasterLeases(stores.of(masterLeases)),
  };
  return new KubernetesEndpoints(deps, advertise);
}

function serverIdentity(
  host: SupervisedHost,
  { catalog }: ApiServer,
  { identity }: PlaneOptions,
): ServerIdentity | undefined {
  if (identity === undefined) return undefined;
  const made = new ServerIdentity({ ...host, catalog }, identity);
  made.start();
  return made;
}

function openPlaneRegistry(
  host: Host,
  stores: PlaneStores,
  {
    compactPeriodMs = limits.compactEverySeconds * 1000,
    eventTtlSeconds = limits.eventTtlSeconds,
    runner,
  }: PlaneOptions & Pick<Threads, "runner">,
): OpenRegistry {
  const deps = { ...host, fieldValue, strategyFor: strategiesWithExpressions(runner) };
  return stores.openRegistry(deps, { compactPeriodMs, eventTtlSeconds });
}

function planeAccess(
  host: SupervisedHost,
  { pki, staticTokens, frontProxy, issuer, anonymousPaths = "all" }: PlaneOptions,
  { registry, metrics }: Pick<ServerParts, "registry" | "metrics">,
): ServerAccess {
  const more = {
    ...(staticTokens === undefined ? {} : { staticTokens }),
    ...(frontProxy === undefined ? {} : { frontProxy }),
    ...(issuer === undefined ? {} : { issuer }),
  };
  return serverAccess({
    ...host,
    lookup: createLister(registry),
    registry,
    metrics,
    pki,
    anonymousPaths,
    ...more,
  });
}

/** Of the process, the stores and the caches; the server adds its own. */
function planeMetrics(stores: PlaneStores, registry: OpenRegistry): MetricSet {
  const metrics = processMetricSet();
  metrics.figuresOf(() => storeMetrics(stores.main.stats()));
  describeStoreRequests(metrics, stores);
  describeCaches(metrics, registry);
  return metrics;
}

/** What judges writes beyond the built-in plugins. */
function openExtensions(
  host: SupervisedHost,
  options: PlaneOptions,
  {
    registry,
    access,
    metrics,
    runner,
  }: Pick<ServerParts, "registry" | "access" | "metrics"> & Pick<Threads, "runner">,
): Pick<ServerParts, "webhooks" | "policies"> & { readonly conversion: OpenedConversion } {
  const { authorizer } = access;
  const parts = { registry, lookup: createLister(registry), metrics, authorizer, runner };
  const opened = webhookAccess(options);
  return {
    webhooks: openWebhooks(host, { ...parts, ...opened }),
    conversion: openConversion(host, { ...parts, ...opened }),
    policies: openPolicies({ ...parts, clock: host.clock }),
  };
}

interface ServerParts {
  readonly serviceNumbers: ServiceNumbers;
  readonly registry: OpenRegistry;
  readonly access: ServerAccess;
  readonly yaml: YamlThread;
  readonly metrics: MetricSet;
  readonly kubelets: OpenedKubelets;
  readonly webhooks: Webhooks;
  readonly policies: Policies;
  readonly start: StartHooks;
  readonly stores: PlaneStores;
}

function makeServer(
  host: SupervisedHost,
  options: PlaneOptions,
  parts: ServerParts,
): { readonly server: ApiServer; readonly aggregator: Aggregator } {
  const { registry } = parts;
  const { resources = builtinResources() } = options;
  const lookup = createLister(registry);
  const { access, yaml, metrics, kubelets, webhooks, policies } = parts;
  // Admission is made before the server that serves the kinds.
  const made: { server?: ApiServer } = {};
  const plugins = defaultPlugins({
    ...host,
    lookup,
    access: access.access,
    readCertificateRequest,
    updateQuota: (quota) => updateQuota(registry, quota),
    serviceAddresses: options.serviceAddresses ?? limits.serviceAddresses,
    serviceNumbers: parts.serviceNumbers,
    served: () => made.server?.catalog.infos() ?? [],
    choice: options.admissionPlugins ?? { enable: [], disable: [] },
    settings: options.admission?.settings ?? {},
    extra: [
      policies.mutating,
      webhooks.mutating,
      webhooks.conditions,
      policies.validating,
      webhooks.validating,
    ],
  });
  countFailures(metrics, host.supervisor);
  let aggregator: Aggregator | undefined;
  made.server = createApiServer(
    {
      ...host,
      registry,
      lookup,
      authenticator: access.authenticator,
      authorizer: access.authorizer,
      admission: createAdmission(plugins),
      metrics,
      version,
      startChecks: parts.start.checks,
      storeProblems: parts.stores.problems(),
      issuer: access.issuer,
      gate: measuredGate(
        {
          ...host,
          lookup,
          configVersion: changesOf(registry, flowKinds),
          load: serverLoad(registry, resources),
        },
        metrics,
      ),
      yaml: offloadedYaml(yaml),
      tokens: access.authenticator,
      tokenMinter: access.mintToken,
      kubelets: kubelets.kubelets,
      delegates: (catalog) => {
        const frontProxy = options.pki.frontProxyClient;
        const reached = { catalog, lookup, metrics, frontProxy };
        aggregator = openAggregator(host, reached, options.aggregation ?? {});
        return aggregator;
      },
      ...(options.audit === undefined ? {} : { audit: options.audit }),
    },
    { resources, requestTimeoutMs: limits.requestTimeoutMs, limits: apiLimits },
  );
  return { server: made.server, aggregator: must(aggregator, "a server asks for its delegates") };
}

const flowKinds = ["flowschemas", "prioritylevelconfigurations"].map((resource) => ({
  group: "flowcontrol.apiserver.k8s.io",
  resource,
}));

const version = versionInfo({
  productVersion,
  commit: "unknown",
  date: "1970-01-01T00:00:00Z",
  runtime: `node ${process.versions.node}`,
  platform: `${process.platform}/${process.arch}`,
});

function bootstrapFacts(options: PlaneOptions, listening: Listening): BootstrapFacts {
  return {
    advertise: { host: options.advertiseAddress ?? options.host, port: listening.address.port },
    isOneOfSeveral: options.isOneOfSeveral ?? false,
    serviceCidr: (options.serviceAddresses ?? limits.serviceAddresses).range,
    clientCa: clientAuthorities(options),
    requestHeader: options.frontProxy ?? {
      clientCa: options.pki.frontProxyAuthority.certificate,
      allowedNames: ["front-proxy-client"],
      usernameHeaders: ["X-Remote-User"],
      uidHeaders: ["X-Remote-Uid"],
      groupHeaders: ["X-Remote-Group"],
      extraPrefixes: ["X-Remote-Extra-"],
    },
  };
}

/** Quota admission writes a status the way a controller would, guarded by what it read. */
async function updateQuota(registry: OpenRegistry, quota: ResourceQuota): Promise<void> {
  const info = must(resourceByPath("", "v1", "resourcequotas"), "quotas are built in");
  const { namespace = "", name = "" } = quota.metadata ?? {};
  const next = quota as AnyObject;
  await registry
    .store(info)
    .update(namespace, name, () => next, { subresource: "status", dryRun: false });
}

function listenTls(host: Host, options: PlaneOptions, server: ApiServer): Promise<Listening> {
  const { pki } = options;
  return listen(
    {
      host: options.host,
      port: options.port,
      key: pki.server.privateKey,
      cert: pki.server.certificate,
      clientCa: clientAuthorities(options),
      ...(options.frontProxy === undefined ? {} : { proxyCa: options.frontProxy.clientCa }),
      limits: httpLimits,
      refused: (request) => server.refused(request),
    },
    server.handler,
    host.log,
  );
}

function certificateSigning(host: Host, options: PlaneOptions): SigningOptions {
  const { pki, signingAuthority: authority = () => pki.authority } = options;
  const lifetimeMostMs = options.signingLifetimeMs ?? limits.signingLifetimeMs;
  const { signers } = options;
  const some = signers === undefined ? {} : { signers };
  return { authority: new ClusterSigner({ ...host, authority, ...some }), lifetimeMostMs };
}

/** PEM: who is trusted to say who a client is, also the authority that signs the nodes' certificates. */
function clientAuthorities({ pki, clientCa, signingAuthority, signers }: PlaneOptions): string {
  const all = new Set([clientCa ?? pki.authority.certificate]);
  for (const signer of clientSigners) {
    if (signingAuthority === undefined || signers?.has(signer) === false) continue;
    all.add(signingAuthority(signer).certificate);
  }
  return [...all].map((certificate) => `${certificate.trimEnd()}\n`).join("");
}

/** Their certificates say who a client is. */
const clientSigners = [
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
];

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
