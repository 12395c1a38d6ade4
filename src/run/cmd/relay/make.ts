/** A relay built from flags, with its resources, views, guards and peers, and its shutdown. */
import { SelectorError } from "#api/selectors/label-selector.ts";
import { CertificateAuthenticator } from "#auth/x509.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import { Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import { heapBytesMax } from "#platform/node/heap.ts";
import type { Listening } from "#platform/node/http/http.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { type RelayLimits, relayLimits } from "#relay/limits.ts";
import { definitionsKind, kindId, type MirroredKind } from "#relay/mirror/mirrored-kind.ts";
import { flowResources } from "#relay/access/flow-configuration.ts";
import { createRelay, type Relay, type ViewOn } from "#relay/relay.ts";
import { type Chosen, chooseResources, UnknownResourceError } from "#relay/mirror/resources.ts";
import {
  checkJoined,
  definitionOn,
  isJoined,
  parseViewFile,
  resourcesOfView,
  type ViewDefinition,
  ViewFileError,
} from "#relay/views/view-definition.ts";
import { type XdsLimits, xdsLimits } from "#relay/xds/limits.ts";
import { optionalResources, xdsResources } from "#relay/xds/xds-face.ts";
import { nodeTurnHost } from "#platform/node/http/process-turns.ts";
import type { Audit } from "#server/audit/trail.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { relayLedgerLimits, shutdownMs } from "../shared/limits.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { openTimers, type Parts } from "../shared/parts.ts";
import type { MirrorFlags } from "./flags.ts";
import { peerStreams } from "./peers.ts";
import { discoverUpstream, type Upstreams } from "./upstream.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface Made {
  readonly running: Relay;
  /** Names of custom resources that are not defined yet. */
  readonly awaited: readonly string[];
  readonly up: Upstreams;
  readonly log: Log;
}

interface MoreOfRelay {
  readonly metrics: MetricSet;
  readonly metricsText?: () => Promise<string>;
  readonly audit?: Audit;
  /** Whether the views themselves are served. False: their resources are mirrored, and other processes serve the views. */
  readonly followsViews?: boolean;
}

/** @returns undefined when it was stopped before the upstream's discovery was read. */
async function makeRelay(
  flags: MirrorFlags,
  up: Upstreams,
  stopping: AbortSignal,
  more: MoreOfRelay,
): Promise<Made | undefined> {
  const log = nodeLog({ level: flags.logLevel, destination: 2 });
  const definitions = viewsOf(flags);
  const all = await discoverUpstream(up, log, stopping);
  if (stopping.aborted) return undefined;
  const views = definitions.map((definition) => viewOn(all, definition, flags));
  const { kinds, awaited, custom } = resourcesOf(all, flags, views);
  const random = new NodeRandom();
  const ledger = new Ledger(relayLedgerLimits(heapBytesMax()));
  const peers = flags.peers === undefined ? {} : { peerStreams: peersOf(flags, flags.peers) };
  const running = createRelay(
    {
      ...up,
      random,
      log,
      ledger,
      turnTimes: nodeTurnHost,
      ...more,
      ...peers,
      peers: new CertificateAuthenticator(up),
    },
    {
      resources: kinds,
      views: more.followsViews === false ? [] : views,
      ...given({ custom }),
      consistency: flags.reads,
      shadowRate: flags.shadow ?? 0,
      limits: limitsOf(flags),
      ...given({ seats: flags.maxRequestsInflight || undefined }),
      ...(flags.xdsListen === undefined ? {} : { xds: xdsLimitsOf(flags) }),
    },
  );
  return { running, awaited, up, log };
}

function xdsLimitsOf({ xdsTtl = xdsLimits.ttlMs }: MirrorFlags): XdsLimits {
  return { ...xdsLimits, ttlMs: xdsTtl };
}

function limitsOf({ shrinkGuard, readyMaxAge }: MirrorFlags): RelayLimits {
  const readyAgeMsMax = readyMaxAge === undefined ? undefined : readyMaxAge * 1000;
  return { ...relayLimits, shrinkPercentMax: shrinkGuard, readyAgeMsMax };
}

function peersOf(flags: MirrorFlags, urls: string): () => Promise<readonly number[]> {
  return peerStreams(
    urls,
    flags.peersCa === undefined ? undefined : readOperatorFile(flags.peersCa),
  );
}

/** Opens a relay as parts: its upstream and its mirrors. Undefined: it was stopped before the upstream's discovery was read. */
export async function openRelay(
  flags: MirrorFlags,
  connect: (clock: Clock) => Upstreams,
  more: MoreOfRelay & { readonly clock: Clock },
  parts: Parts,
  stopping: AbortSignal,
): Promise<Made | undefined> {
  const { clock: hostClock, ...rest } = more;
  const clock = await openTimers(hostClock, parts);
  const up = await parts.open("upstream", () => connect(clock), { close: closeUpstreams });
  return parts.open("mirrors", () => makeRelay(flags, up, stopping, rest), {
    close: (made) => made?.running.stop(),
  });
}

/** Opens the listener for clients of `made`. At the end, their streams are drained before it closes. */
export async function openListener(
  made: Made,
  drainMs: number,
  start: () => Promise<Listening>,
  parts: Parts,
): Promise<Listening> {
  const listening = await parts.open("listener", start, {
    close: (listener) => listener.close(shutdownMs),
  });
  await parts.open("streams", () => made.running, {
    close: (running) => {
      running.xds?.stop();
      return running.drain(drainMs);
    },
  });
  return listening;
}

function closeUpstreams({ http, passHttp, anonymousHttp }: Upstreams): void {
  http.close();
  passHttp.close();
  anonymousHttp.close();
}

/** Returns the resources to mirror, including those that views and xDS are made of. */
function resourcesOf(
  all: readonly MirroredKind[],
  flags: MirrorFlags,
  views: readonly ViewOn[],
): Chosen {
  const names = flags.resources.split(",").map((name) => name.trim());
  const ofViews = views.flatMap(({ kind, joined = [] }) => [kind, ...joined].map(kindId));
  const ofXds: readonly string[] =
    flags.xdsListen === undefined ? [] : [...xdsResources, ...optionalNames(all)];
  const ofFlows = flags.maxRequestsInflight ? servedOf(all, flowResources) : [];
  const wanted = [...names, ...ofViews, ...ofXds, ...ofFlows];
  const chosen = usage("--resources", () => chooseResources(all, wanted));
  // Most clusters never define these, so only resources that a flag names are waited for.
  const awaited = chosen.awaited.filter((name) => names.includes(name) || !ofXds.includes(name));
  return { ...chosen, awaited };
}

/** Returns the served ones. An upstream without them has another fairness mechanism. */
function servedOf(all: readonly MirroredKind[], names: readonly string[]): readonly string[] {
  return names.filter((name) => isServed(all, name));
}

/** Returns the optional resources that are served or can be defined later. */
function optionalNames(all: readonly MirroredKind[]): readonly string[] {
  const served = new Set(all.map(kindId));
  const canCome = served.has(kindId(definitionsKind));
  return optionalResources.filter((id) => served.has(id) || canCome);
}

/** Returns a view. A resource unknown to the upstream, or a field that it cannot select by, is an error. */
function viewOn(
  all: readonly MirroredKind[],
  definition: ViewDefinition,
  { views = "" }: MirrorFlags,
): ViewOn {
  return usage(`${views}: view ${definition.name}`, () => {
    const { resources, optional } = resourcesOfView(definition);
    const served = resources.filter((name) => !optional.includes(name) || isServed(all, name));
    const [kind, ...joined] = served.map((name) => kindNamed(all, name));
    if (kind === undefined) throw new UnknownResourceError(resources);
    checkJoined(definition, joined);
    const checked = definitionOn(kind, definition);
    return { definition: checked, kind, ...(isJoined(definition) ? { joined } : {}) };
  });
}

function isServed(all: readonly MirroredKind[], id: string): boolean {
  return all.some((kind) => kindId(kind) === id);
}

function kindNamed(all: readonly MirroredKind[], name: string): MirroredKind {
  const [kind] = chooseResources(all, [name]).kinds;
  if (kind === undefined) throw new UnknownResourceError([name]);
  return kind;
}

function viewsOf({ views }: MirrorFlags): readonly ViewDefinition[] {
  return views === undefined ? [] : usage(views, () => parseViewFile(readOperatorFile(views)));
}

function usage<T>(where: string, f: () => T): T {
  try {
    return f();
  } catch (error) {
    const told = [UnknownResourceError, ViewFileError, SelectorError];
    if (!told.some((kind) => error instanceof kind)) throw error;
    throw new UsageError(`${where}: ${(error as Error).message}`, { cause: error });
  }
}
