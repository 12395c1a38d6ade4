/**
 * A whole control plane in this process: store, registry, API server, scheduler, controllers and
 * hollow nodes, the last three through the direct transport. Wiring only.
 *
 * Start  storage -> extensions -> server -> listener -> bootstrap objects -> aggregation -> loops, as written below.
 * Stop   the same in reverse: readiness fails first, loops end, the listener drains, the stores close last.
 *        Acknowledged writes are durable even when a stop is interrupted.
 */
import { given } from "#base/given.ts";
import { bootstrap } from "#apiserver/bootstrap.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { groups } from "#auth/groups.ts";
import type { Client } from "#client/client.ts";
import { directClient } from "#client/direct.ts";
import { controllerRoles } from "#controllers/manager.ts";
import type { OpenServiceNumbers } from "#apiserver/service-numbers/service-numbers.ts";
import type { Share } from "#flowcontrol/share.ts";
import { freePort, type Listening } from "#platform/node/http/http.ts";
import { createLister } from "#registry/lister.ts";
import { type ServerAccess, serverAccess } from "./access.ts";
import type { Host, SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { openTimers, Parts } from "../shared/parts.ts";
import { openApiServer } from "./api-server.ts";
import { keepOwnObjects, openLoops } from "./background.ts";
import { openExtensions } from "./extensions.ts";
import {
  bootstrapFacts,
  listenTls,
  noteListening,
  type Place,
  renewListener,
  urlOf,
} from "./listener.ts";
import type { PlaneOptions } from "./options.ts";
import { openStorage, planeServiceNumbers, type Storage } from "./storage.ts";
import type { OwnAddresses } from "./own-addresses.ts";
import { StartHooks } from "./start-hooks.ts";
import { embeddedSupervisor } from "../shared/supervise.ts";
import { openWays, type Ways } from "./ways.ts";
import type { Extensions } from "./extensions.ts";
import type { OwnerLink } from "./workers/owner-link.ts";
import type { SharedOptions } from "./workers/messages.ts";
import { ServingPool } from "./workers/pool.ts";

export interface Plane {
  /** URL of the API server, such as `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Addresses of this process. Other listeners of the process add their ports. */
  readonly ownAddresses: OwnAddresses;
  /** Client with cluster-admin rights that uses no socket. */
  readonly client: Client;
  /** Returns a client with this user's rights that uses no socket. */
  readonly clientAs: (user: string) => Client;
  /** Resolves when every hollow node is registered. The API is ready before that. */
  readonly registered: Promise<void>;
  /** Resolves when the store had to stop, for example after a disk failure. The process must then end. */
  readonly failed: Promise<Error>;
  stop(): Promise<void>;
}

/** Starts a plane and adds its parts to `parts`. A failed start closes everything it opened, then rejects with the cause. */
export function startPlane(
  given: Host,
  options: PlaneOptions,
  parts: Parts = new Parts(),
): Promise<Plane> {
  return parts.closeOnFailure(async () => {
    const host = hostWithSupervisor(given);
    const clock = await openTimers(host.clock, parts);
    return openPlane({ ...host, clock }, options, parts);
  });
}

async function openPlane(
  host: SupervisedHost,
  options: PlaneOptions,
  parts: Parts,
): Promise<Plane> {
  const pool = poolOf(host, options);
  const opened = await openServer(host, withPool(options, pool), parts);
  const { server, start, repair, access, metrics, stores, ownAddresses } = opened;
  // The addresses and ports of stored Services are reserved before new ones are allocated.
  await repair.run();
  const listening = await openPort(host, options, { ...opened, pool }, parts);
  noteListening(ownAddresses, options, listening);
  const facts = bootstrapFacts(options, listening);
  await bootstrap({ ...host, catalog: server.catalog }, facts, { controllerRoles });
  start.finish("objects");
  await repair.run();
  await parts.open("service-numbers", () => repair.start(), { close: () => repair.close() });
  await keepOwnObjects(host, options, { ...opened, catalog: server.catalog, facts }, parts);
  await openAggregation(opened, parts);
  pool?.started();
  const loops = await openLoops(host, options, { server, access, metrics }, parts);
  await parts.open("readiness", () => undefined, {
    close: () => leave(host, options, server, pool),
  });
  return {
    url: urlOf(options.host, listening),
    client: directClient(server.handler, administrator),
    clientAs: (name) => directClient(server.handler, { name, groups: [groups.authenticated] }),
    registered: loops?.registered ?? Promise.resolve(),
    failed: stores.failed,
    ownAddresses,
    stop: () => parts[Symbol.asyncDispose](),
  };
}

/** Opens a thread that serves the port of another thread's plane. `link`: the connection to that thread. @returns its failure. */
export async function openServingThread(
  host: SupervisedHost,
  options: PlaneOptions,
  link: OwnerLink,
  parts: Parts,
): Promise<Pick<Plane, "failed">> {
  const clock = await openTimers(host.clock, parts);
  const own = { ...host, clock };
  const opened = await openServer(own, options, parts);
  const { server, start, metrics, ownAddresses, stores } = opened;
  const listening = await openListener(own, options, opened, parts);
  noteListening(ownAddresses, options, listening);
  await openAggregation(opened, parts);
  link.listen({
    started: () => start.finish("objects"),
    leave: () => server.shutdown(),
    metrics: () => metrics.text(),
  });
  const { host: at, port } = listening.address;
  link.post({ kind: "listening", host: at, port });
  await parts.open("readiness", () => undefined, { close: () => server.shutdown() });
  return { failed: stores.failed };
}

type OpenedServer = Storage &
  Ways &
  Extensions & {
    readonly server: ApiServer;
    readonly start: StartHooks;
    readonly access: ServerAccess;
    readonly repair: OpenServiceNumbers["repair"];
  };

/** Opens an API server without its port. */
async function openServer(
  host: SupervisedHost,
  options: PlaneOptions,
  parts: Parts,
): Promise<OpenedServer> {
  const start = await parts.open("start", () => new StartHooks(), {
    close: () => undefined,
    checks: ({ checks }) => checks,
  });
  const storage = await openStorage(host, options, parts);
  const ways = await parts.open("kubelets", () => openWays(host, options), {
    close: ({ kubelets }) => kubelets.close(),
  });
  const access = await parts.open(
    "access",
    () => planeAccess(host, options, { ...storage, ...ways }),
    { close: (opened) => opened.close() },
  );
  const extensions = await openExtensions(host, options, { ...storage, ...ways, access }, parts);
  const { repair, ...serviceNumbers } = planeServiceNumbers(host, options, storage);
  const opened = {
    ...storage,
    ...ways,
    ...extensions,
    access,
    serviceNumbers,
    startChecks: parts.checks(),
  };
  const server = await openApiServer(host, options, opened, parts);
  await server.ready();
  start.finish("caches");
  return { ...opened, server, start, repair };
}

async function openAggregation(
  { aggregator, start }: Pick<OpenedServer, "aggregator" | "start">,
  parts: Parts,
): Promise<void> {
  await parts.open("aggregation", () => aggregator.start(), { close: () => aggregator.close() });
  start.finish("aggregation");
}

function poolOf(host: SupervisedHost, { workers }: PlaneOptions): ServingPool | undefined {
  return workers === undefined ? undefined : new ServingPool(host, workers);
}

/** With workers, this thread's store feeds them. The thread has no port, so its registry serves only itself. */
function withPool(options: PlaneOptions, pool: ServingPool | undefined): PlaneOptions {
  if (pool === undefined || options.workers === undefined) return options;
  const { workers, serving, loops } = options;
  const share = seatShare(workers.count, loops);
  return {
    ...options,
    ...(serving !== undefined && { serving: { ...serving, share } }),
    readers: pool.feed,
    metricsPage: async () => [new TextEncoder().encode(await pool.page())],
  };
}

/** Returns the first thread's share of seats. With loops in this process, it has clients of its own and counts as one more holder. */
function seatShare(workers: number, loops: PlaneOptions["loops"]): Share {
  return { index: workers, count: loops === "none" ? workers : workers + 1 };
}

interface PortDeps extends OpenedServer {
  readonly pool: ServingPool | undefined;
}

/** Opens the port in this thread, or in the workers. */
async function openPort(
  host: SupervisedHost,
  options: PlaneOptions,
  { pool, ...opened }: PortDeps,
  parts: Parts,
): Promise<Place> {
  if (pool === undefined) return openListener(host, options, opened, parts);
  // Workers share the port, so they would not notice that another process already listens on it.
  const address = await freePort({ host: options.host, port: options.port });
  const { metrics } = opened;
  const { count } = seatShare(options.workers?.count ?? 1, options.loops);
  const served = {
    options: sharedOptions(options, address.port),
    sinks: options.audit,
    seatHolders: count,
    metrics: () => metrics.text(),
  };
  await parts.open("workers", () => pool.start(served), { close: () => pool.stop() });
  return { address };
}

function sharedOptions(options: PlaneOptions, port: number): SharedOptions {
  const { pki, host, clientCa, issuer, olderIssuers, keysUrl, advertiseAddress } = options;
  const { serviceAddresses, eventTtlSeconds, hasBootstrapTokens } = options;
  return {
    pki,
    host,
    port,
    ...given({ clientCa, issuer, olderIssuers, keysUrl, advertiseAddress }),
    ...given({ serviceAddresses, eventTtlSeconds, hasBootstrapTokens }),
  };
}

/** Reports not ready before the stop, so that load balancers choose another server. */
async function leave(
  host: Host,
  { serving }: PlaneOptions,
  server: ApiServer,
  pool: ServingPool | undefined,
): Promise<void> {
  server.shutdown();
  pool?.leave();
  const delayMs = serving?.shutdownDelayMs ?? 0;
  if (delayMs === 0) return;
  await new Promise<void>((resolve) => host.clock.after("plane.leave", delayMs, resolve));
}

function hostWithSupervisor(given: Host): SupervisedHost {
  const supervisor = given.supervisor ?? embeddedSupervisor(given);
  return { ...given, clock: supervisor.clock, supervisor };
}

const administrator = { name: "kubernetes-admin", groups: [groups.masters] };

/** Clients that connect before the bootstrap objects exist get an API without these objects instead of an error. */
async function openListener(
  host: SupervisedHost,
  options: PlaneOptions,
  { server, kubelets, metrics }: Pick<OpenedServer, "server" | "kubelets" | "metrics">,
  parts: Parts,
): Promise<Listening> {
  const listening = await parts.open("listener", () => listenTls(host, options, server, metrics), {
    close: (listener) => listener.close(limits.shutdownMs),
  });
  await parts.open("renewed-files", () => renewListener(host, options, listening), {
    close: (end) => end(),
  });
  await parts.open("streams", () => undefined, {
    close: () => {
      server.close();
      kubelets.kubelets.streams.cutTunnels();
    },
  });
  return listening;
}

function planeAccess(
  host: SupervisedHost,
  options: PlaneOptions,
  { registry, metrics, kubelets: { isShown } }: Storage & Pick<Ways, "kubelets">,
): ServerAccess {
  const { pki, staticTokens, frontProxy, issuer, anonymousPaths = "all" } = options;
  const { olderIssuers, keysUrl, apiAudiences, tokenWebhook, tokenLifetimes, tokenKeyFiles } =
    options;
  const { authorization, hasBootstrapTokens, authentication, identity = "" } = options;
  return serverAccess({
    ...host,
    lookup: createLister(registry),
    registry,
    metrics,
    pki,
    anonymousPaths,
    serverId: identity,
    ...given({
      authentication,
      staticTokens,
      frontProxy,
      issuer,
      olderIssuers,
      tokenKeyFiles,
      keysUrl,
      tokenLifetimes,
      apiAudiences,
      tokenWebhook,
      isOwnCertificate: isShown,
      authorization,
      hasBootstrapTokens,
    }),
  });
}
