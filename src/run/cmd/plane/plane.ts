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
import type { Listening } from "#platform/node/http/http.ts";
import { createLister } from "#registry/lister.ts";
import { type ServerAccess, serverAccess } from "./access.ts";
import type { Host, SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { openTimers, Parts } from "../shared/parts.ts";
import { openApiServer } from "./api-server.ts";
import { keepOwnObjects, openLoops } from "./background.ts";
import { openExtensions } from "./extensions.ts";
import { bootstrapFacts, listenTls, noteListening, renewListener, urlOf } from "./listener.ts";
import type { PlaneOptions } from "./options.ts";
import { openStorage, planeServiceNumbers, type Storage } from "./storage.ts";
import type { OwnAddresses } from "./own-addresses.ts";
import { StartHooks } from "./start-hooks.ts";
import { embeddedSupervisor } from "../shared/supervise.ts";
import { openWays, type Ways } from "./ways.ts";

export interface Plane {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Takes the ports of other listeners of the same process. */
  readonly ownAddresses: OwnAddresses;
  /** As cluster-admin, without a socket. */
  readonly client: Client;
  /** As this user, without a socket. */
  readonly clientAs: (user: string) => Client;
  /** Resolves when every hollow node is registered; the API is ready before that. */
  readonly registered: Promise<void>;
  /** Resolves when the store had to stop (disk): the process must end. */
  readonly failed: Promise<Error>;
  stop(): Promise<void>;
}

/** A start that fails closes what it had opened, then rejects with the cause. `parts`: where the plane's parts go. */
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
  // No number is given out before those of the stored Services are reserved.
  await repair.run();
  const listening = await openListener(host, options, { server, ...ways, ...storage }, parts);
  noteListening(ways.ownAddresses, options, listening);
  const facts = bootstrapFacts(options, listening);
  await bootstrap({ ...host, catalog: server.catalog }, facts, { controllerRoles });
  start.finish("objects");
  await repair.run();
  await parts.open("service-numbers", () => repair.start(), { close: () => repair.close() });
  await keepOwnObjects(host, options, { ...opened, facts }, parts);
  const { aggregator, metrics } = opened;
  await parts.open("aggregation", () => aggregator.start(), { close: () => aggregator.close() });
  start.finish("aggregation");
  const loops = await openLoops(host, options, { server, access, metrics }, parts);
  await parts.open("readiness", () => undefined, { close: () => leave(host, options, server) });
  return {
    url: urlOf(options.host, listening),
    client: directClient(server.handler, administrator),
    clientAs: (name) => directClient(server.handler, { name, groups: [groups.authenticated] }),
    registered: loops?.registered ?? Promise.resolve(),
    failed: storage.stores.failed,
    ownAddresses: ways.ownAddresses,
    stop: () => parts[Symbol.asyncDispose](),
  };
}

/** Balancers see that it is not ready, and go elsewhere, before it stops. */
async function leave(host: Host, { serving }: PlaneOptions, server: ApiServer): Promise<void> {
  server.shutdown();
  const delayMs = serving?.shutdownDelayMs ?? 0;
  if (delayMs === 0) return;
  await new Promise<void>((resolve) => host.clock.after("plane.leave", delayMs, resolve));
}

function hostWithSupervisor(given: Host): SupervisedHost {
  const supervisor = given.supervisor ?? embeddedSupervisor(given);
  return { ...given, clock: supervisor.clock, supervisor };
}

const administrator = { name: "kubernetes-admin", groups: [groups.masters] };

/** Clients that come before the bootstrap objects are there find an API without them, not an error. */
async function openListener(
  host: SupervisedHost,
  options: PlaneOptions,
  {
    server,
    kubelets,
    metrics,
  }: { readonly server: ApiServer } & Pick<Ways, "kubelets"> & Pick<Storage, "metrics">,
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
