/** A whole API server for tests: memory store, allow-all, virtual time; and functions to send requests. */
import { parseExactJson } from "#base/exact-json.ts";
import { createAdmission } from "#admission/chain.ts";
import type { AdmissionPlugin } from "#admission/admission.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import type { Strategy } from "#api/strategies/strategy-types.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { AnyObject } from "#api/object.ts";
import type { Status } from "#api/status.ts";
import { alwaysAllow } from "#auth/testing/always-allow.ts";
import type { Authenticator, Authorizer } from "#auth/auth.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { Ledger } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import type { ByteSink, Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import { createLister } from "#registry/lister.ts";
import {
  createRegistry,
  type OpenRegistry,
  recommendedRegistryOptions,
} from "#registry/registry.ts";
import type { Registry } from "#registry/resource-store.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { versionInfo } from "#server/version.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { roomyLedger } from "#platform/testing/roomy-ledger.ts";
import { openMemoryStore } from "#store/open.ts";
import type { Store } from "#store/store.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Lister } from "#api/lister.ts";
import { ResourceCatalog } from "../catalog.ts";
import type { Delegates } from "../delegates.ts";
import { apiLimits } from "../deps.ts";
import type { IssuerFacts } from "../issuer-http.ts";
import { type ApiServer, createApiServer } from "../server.ts";

export interface RunningPlane {
  readonly server: ApiServer;
  readonly metrics: MetricSet;
  readonly registry: OpenRegistry;
  readonly store: Store;
  close(): Promise<void>;
}

export interface Plane extends RunningPlane {
  readonly clock: FakeClock;
}

interface PlaneOptions {
  readonly plugins?: readonly AdmissionPlugin[];
  readonly authorizer?: Authorizer;
  /** Absent: every request is authenticated as `tester`. */
  readonly authenticator?: Authenticator;
  /** Wraps the registry, to observe the calls of handlers. */
  readonly around?: (registry: Registry) => Registry;
  /** Components of the cluster reported as running in this process. Absent: none. */
  readonly runsBeside?: readonly string[];
  /** Absent: a ledger with enough room for any test. */
  readonly ledger?: Ledger;
  /** Absent: the strategies of room `api`. */
  readonly strategyFor?: (info: ResourceInfo) => Strategy;
  /** Other servers that answer parts of the API. */
  readonly delegates?: (deps: {
    readonly catalog: ResourceCatalog;
    readonly lookup: Lister;
    readonly clock: Clock;
    readonly metrics: MetricSet;
  }) => Delegates;
  readonly issuer?: IssuerFacts;
}

const builtinStrategy = (info: ResourceInfo): Strategy =>
  strategyFor(info.storage?.group ?? info.group, info.storage?.resource ?? info.resource);

const tester = { name: "tester", groups: ["system:masters", "system:authenticated"] };

const everybodyIsTester: Authenticator = {
  authenticate: () => Promise.resolve({ kind: "user", user: tester }),
};

/** Opens a server on virtual time. */
export async function openPlane(options: PlaneOptions = {}): Promise<Plane> {
  const clock = new FakeClock();
  return { ...(await openPlaneOn(clock, options)), clock };
}

export async function openPlaneOn(clock: Clock, options: PlaneOptions = {}): Promise<RunningPlane> {
  const deps = { clock, random: new FakeRandom(7), log: silentLog };
  const store = await openMemoryStore(deps, recommendedOptions);
  const registry = createRegistry(
    {
      ...deps,
      store,
      strategyFor: options.strategyFor ?? builtinStrategy,
      fieldValue,
    },
    { ...recommendedRegistryOptions, shouldFreeze: true },
  );
  const metrics = new MetricSet();
  const build = { productVersion: "0", commit: "c", date: "d", runtime: "node", platform: "test" };
  const lookup = createLister(registry);
  const seen = options.around?.(registry) ?? registry;
  const catalog = new ResourceCatalog(seen, stableResources());
  const delegates = options.delegates?.({ catalog, lookup, clock, metrics });
  const server = createApiServer(
    {
      ...deps,
      ...given({ delegates, runsBeside: options.runsBeside, issuer: options.issuer }),
      registry: seen,
      catalog,
      metrics,
      lookup,
      authenticator: options.authenticator ?? everybodyIsTester,
      authorizer: options.authorizer ?? alwaysAllow,
      admission: createAdmission(options.plugins ?? []),
      ledger: options.ledger ?? roomyLedger(),
      version: versionInfo(build),
    },
    { requestTimeoutMs: 60_000, limits: apiLimits },
  );
  await server.ready();
  const close = async (): Promise<void> => {
    server.close();
    await registry.close();
    await store.close();
  };
  return { server, metrics, registry, store, close };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** Parsed body; {} when it is not JSON. */
  readonly json: AnyObject;
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the request: an object is sent as JSON, text and bytes unchanged. */
  readonly body?: object | string | Uint8Array;
  readonly type?: string;
}

/** Sends one request as a socket would. */
export async function ask(
  plane: RunningPlane,
  method: string,
  target: string,
  options: Ask = {},
): Promise<Answer> {
  const response = await plane.server.handler(request(method, target, options));
  if (response.kind !== "bytes")
    throw new Error(`a ${response.kind} answer to ${method} ${target}`);
  const bytes = Buffer.concat(response.body);
  const text = bytes.toString();
  return { status: response.status, headers: response.headers, text, bytes, json: parsed(text) };
}

function parsed(text: string): AnyObject {
  try {
    return parseExactJson(text) as AnyObject;
  } catch {
    return {};
  }
}

export function request(method: string, target: string, options: Ask = {}): PlainRequest {
  const [path = "", query = ""] = target.split("?");
  const { body, type } = options;
  const sent = body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(textOf(body));
  return {
    method,
    path,
    query,
    headers: {
      ...(body === undefined ? {} : { "content-type": type ?? "application/json" }),
      ...options.headers,
    },
    body:
      body === undefined
        ? { kind: "none" }
        : {
            kind: "bytes",
            read: (limit) => Promise.resolve(sent.length > limit ? "too-large" : sent),
          },
    peer: { kind: "socket", address: "127.0.0.1" },
    signal: new AbortController().signal,
  };
}

function textOf(body: object | string | undefined): string {
  return typeof body === "string" ? body : JSON.stringify(body ?? {});
}

/** An open watch: the lines received so far. */
interface Watching {
  readonly response: PlainResponse;
  events(): readonly { readonly type: string; readonly object: AnyObject }[];
  readonly ended: boolean;
  /** Result of the next write to the socket: whether there is room. */
  room: boolean;
  drain(): void;
  close(): void;
}

export async function watch(
  plane: RunningPlane,
  target: string,
  options: Ask = {},
): Promise<Watching> {
  const response = await plane.server.handler(request("GET", target, options));
  if (response.kind !== "stream") {
    const body =
      response.kind === "bytes" ? Buffer.concat(response.body).toString() : response.kind;
    throw new Error(`no stream: ${body}`);
  }
  const chunks: Uint8Array[] = [];
  const state = { ended: false, drained: () => {} };
  const watching = {
    response,
    room: true,
    get ended() {
      return state.ended;
    },
    events: () =>
      Buffer.concat(chunks)
        .toString()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parseExactJson(line) as { type: string; object: AnyObject }),
    drain: () => state.drained(),
    close: () => close(),
  };
  const sink: ByteSink = {
    write: (more) => {
      chunks.push(...more);
      return watching.room;
    },
    onDrain: (f) => {
      state.drained = f;
    },
    end: () => {
      state.ended = true;
    },
    get closed() {
      return state.ended;
    },
  };
  const close = response.open(sink);
  return watching;
}

export const pods = "/api/v1/namespaces/default/pods";

export function pod(name: string, more: object = {}): AnyObject {
  const spec = { containers: [{ name: "c", image: "nginx" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, ...more }, spec } as AnyObject;
}

export async function withPlane(
  f: (plane: Plane) => Promise<void>,
  options: PlaneOptions = {},
): Promise<void> {
  const plane = await openPlane(options);
  try {
    await f(plane);
  } finally {
    await plane.close();
  }
}

export const statusOf = (answer: { json: AnyObject }): Status => answer.json as unknown as Status;
