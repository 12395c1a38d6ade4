/** A role's access to the API server: its user, its connections, and clients over them. */
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import { fencedTransport } from "#client/fence.ts";
import type { LeaderTerm } from "#client/election.ts";
import { rateLimited } from "#client/rate-limit.ts";
import type { RateLimit } from "#client/token-bucket.ts";
import type { ObjectCoding } from "#client/object-coding.ts";
import { countedTransport, type RestMetrics } from "#client/rest-metrics.ts";
import type { Clock } from "#platform/clock.ts";
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { accessOf } from "./upstream-access.ts";
import type { ApiFlags } from "./role-flags.ts";

/** Writes of a leader check `term`. Absent: the role has no lease. */
export type Fence = LeaderTerm | undefined;

/** Throws UsageError for a kubeconfig that cannot be used. */
export function apiAccess(flags: ApiFlags): Promise<KubeAccess> {
  const { kubeconfig: upstream } = flags;
  return accessOf(upstream === undefined ? {} : { upstream }, process.env, "--kubeconfig");
}

/** Metrics that count the requests. */
interface Counting {
  readonly clock: Clock;
  readonly metrics: RestMetrics;
}

interface Pace {
  readonly limit: RateLimit;
  readonly clock: Clock;
}

interface ConnectionOptions {
  /** Coding of built-in kinds beside JSON. */
  readonly coding?: ObjectCoding;
  readonly counting?: Counting;
  /** Rate limit of requests. Absent: none. */
  readonly pace?: Pace;
}

/** `--kube-api-burst` without `--kube-api-qps` has no effect, as in client-go with a rate below zero. */
export function paceOf(clock: Clock, { kubeApiQps, kubeApiBurst }: ApiFlags): ConnectionOptions {
  if (kubeApiQps === undefined || kubeApiQps <= 0) return {};
  const burst = kubeApiBurst ?? Math.ceil(kubeApiQps);
  return { pace: { limit: { qps: kubeApiQps, burst: Math.max(1, burst) }, clock } };
}

export class ApiConnection {
  readonly access: KubeAccess;
  readonly #userAgent: string;
  readonly #coding: ObjectCoding | undefined;
  readonly #counting: Counting | undefined;
  readonly #pace: Pace | undefined;
  readonly #open: ByteTransport[] = [];

  constructor(access: KubeAccess, userAgent: string, more: ConnectionOptions = {}) {
    this.access = access;
    this.#coding = more.coding;
    this.#pace = more.pace;
    this.#counting = more.counting;
    this.#userAgent = userAgent;
  }

  /** Returns a client with the kubeconfig's user, over its own connections. */
  client(fence?: Fence): Client {
    const { bearerToken } = this.access;
    const token = bearerToken === undefined ? {} : { bearerToken };
    return this.#client(fenced(this.transport(), fence), token);
  }

  /** Returns a client that impersonates `user`, as the kubeconfig's user may. */
  impersonating(user: string): Client {
    const { bearerToken } = this.access;
    const token = bearerToken === undefined ? {} : { bearerToken };
    return this.#client(actingAs(this.transport(), user), token);
  }

  /** Returns a client with the identity of `http` instead of the kubeconfig's user. */
  clientAs(http: ByteTransport, userAgent: string): Client {
    return this.#client(http, { userAgent });
  }

  /** Returns a transport. `isAnonymous`: it presents no certificate of the kubeconfig. */
  transport({ isAnonymous = false } = {}): ByteTransport {
    const { server, ca, serverName, insecure, certificate, key } = this.access;
    const http = httpClient({
      server,
      ...given({ ca, serverName, insecure }),
      ...(isAnonymous || certificate === undefined ? {} : { certificate }),
      ...(isAnonymous || key === undefined ? {} : { key }),
      limits: httpClientLimits,
    });
    this.#open.push(http);
    if (this.#counting === undefined) return http;
    return countedTransport(http, { ...this.#counting, host: new URL(server).host });
  }

  close(): void {
    for (const http of this.#open) http.close();
  }

  #client(
    http: ByteTransport,
    who: { readonly bearerToken?: () => string; readonly userAgent?: string },
  ): Client {
    const coding = this.#coding === undefined ? {} : { coding: this.#coding };
    const options = { userAgent: this.#userAgent, ...who, ...coding, ...socketClientLimits };
    return socketClient({ http: this.#paced(http) }, options);
  }

  /** Each client has its own rate, as in client-go. */
  #paced(http: ByteTransport): ByteTransport {
    return this.#pace === undefined ? http : rateLimited(http, this.#pace.limit, this.#pace.clock);
  }
}

export function fenced(http: ByteTransport, fence: Fence): ByteTransport {
  return fence === undefined ? http : fencedTransport(http, fence);
}

function actingAs(http: ByteTransport, user: string): ByteTransport {
  return {
    send: (request) =>
      http.send({ ...request, headers: { ...request.headers, "impersonate-user": user } }),
    close: () => http.close(),
  };
}
