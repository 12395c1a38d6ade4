/**
 * `/regions/NAME/...` at the coordinator: what a user at home may read of a region, asked there as that user.
 *
 *   user ──identified by home──► may `get clusterprofiles/reads NAME`? ──► the region, as the account that may act for others
 *                                                                         to read only, in the user's name ──► its RBAC decides
 *
 * Holds  1. names of a control plane (`system:...`) mean something else in every cluster: such users are refused, such groups
 *        are left out. 2. what a client says about identity (Impersonate-, X-Remote-) is not passed on; who asks to act for
 *        another is refused. 3. only GET and HEAD, no upgrade, no `proxy`, and a path that is what it seems.
 * Audit  one line here, and the region's own audit: the account, and the user it acted for.
 * Bounds `requestsMax` at a time, watches too.
 */
import { badRequest, failure } from "#api/status.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { ByteSink, PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import { Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import type { Access } from "#relay/access/access.ts";
import { isNobody } from "#relay/access/anonymous.ts";
import { isImpersonating } from "#relay/access/impersonation.ts";
import { relayLimits } from "#relay/limits.ts";
import { passThrough } from "#relay/pass-through.ts";
import type { RegionSet } from "#regions/coordinator/region-set.ts";
import { refs } from "#regions/names.ts";
import { ApiConnection } from "../shared/api-access.ts";
import type { MorePaths } from "../shared/health.ts";
import { relayLedgerLimits } from "../shared/limits.ts";
import { regionAccess } from "./region-access.ts";

interface ForwardDeps {
  readonly log: Log;
  readonly namespace: string;
  readonly userAgent: string;
}

interface Way {
  readonly kubeconfig: string;
  readonly connection: ApiConnection;
  readonly http: ByteTransport;
}

const requestsMax = 1_000;
const ledgerHeapBytes = 512 * 2 ** 20;
const pathPattern = /^\/regions\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(\/.*)$/;
/** Subresources that make the region's API server call a pod, a node or a service with its own rights. */
const actingSubresources = new Set(["proxy", "exec", "attach", "portforward"]);

export class ForwardedReads implements MorePaths {
  readonly prefix = "/regions/";
  readonly #deps: ForwardDeps;
  readonly #ledger = new Ledger(relayLedgerLimits(ledgerHeapBytes));
  readonly #ways = new Map<string, Way>();
  #open = 0;
  /** The regions, while this process leads. Undefined: it does not lead. */
  regions: RegionSet | undefined;

  constructor(deps: ForwardDeps) {
    this.#deps = deps;
  }

  async serve(request: PlainRequest, access: Access): Promise<PlainResponse> {
    const user = await access.identify(request);
    if (isNobody(user)) throw failure(401, "Unauthorized", "Unauthorized");
    if (isImpersonating(request)) {
      throw failure(403, "Forbidden", "forbidden: nobody is impersonated through a coordinator");
    }
    const acting = actingUser(user);
    const { region, path } = readPath(request);
    await access.authorize(user, question(this.#deps.namespace, region));
    const way = this.#wayTo(region);
    if (this.#open >= requestsMax) {
      const text = "the coordinator forwards too many reads";
      throw failure(429, "TooManyRequests", text, { retryAfterSeconds: 1 });
    }
    this.#deps.log.info("a read is forwarded", { user: user.name, region, path });
    return this.#forward({ ...request, path }, way, acting);
  }

  /** Closes the connections to the regions at the end of a term. */
  close(): void {
    this.regions = undefined;
    for (const { connection } of this.#ways.values()) connection.close();
    this.#ways.clear();
  }

  async #forward(request: PlainRequest, way: Way, acting: UserInfo): Promise<PlainResponse> {
    const holding = this.#ledger.open(acting.name);
    const token = way.connection.access.bearerToken?.();
    const headers = (): Readonly<Record<string, string>> =>
      token === undefined ? {} : { authorization: `Bearer ${token}` };
    const deps = { http: way.http, headers, tunnels: new Set<never>() };
    this.#open++;
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      this.#open--;
      holding.close();
    };
    try {
      const answer = await passThrough(deps, relayLimits, request, acting, holding);
      if (answer.kind !== "stream") over();
      else request.signal.addEventListener("abort", over, { once: true });
      return answer.kind === "stream" ? endingWith(answer, over) : answer;
    } catch (error) {
      over();
      throw error;
    }
  }

  #wayTo(region: string): Way {
    const { regions } = this;
    if (regions === undefined) {
      const text = "this coordinator does not lead: ask the one that holds the Lease";
      throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 5 });
    }
    const kubeconfig = regions.readerOf(region);
    const known = this.#ways.get(region);
    if (known !== undefined && known.kubeconfig === kubeconfig) return known;
    known?.connection.close();
    this.#ways.delete(region);
    if (kubeconfig === undefined) {
      throw failure(
        404,
        "NotFound",
        `region ${region} is not read through here: join it with --reads`,
      );
    }
    const connection = new ApiConnection(regionAccess(kubeconfig), this.#deps.userAgent);
    const way = { kubeconfig, connection, http: connection.transport() };
    this.#ways.set(region, way);
    return way;
  }
}

/** Calls `over` when the stream ends, from either side. */
function endingWith(
  answer: Extract<PlainResponse, { readonly kind: "stream" }>,
  over: () => void,
): PlainResponse {
  return {
    ...answer,
    open: (sink: ByteSink) => {
      const close = answer.open({
        write: (chunks) => sink.write(chunks),
        onDrain: (f) => sink.onDrain(f),
        get closed() {
          return sink.closed;
        },
        end() {
          over();
          sink.end();
        },
        abort() {
          over();
          if (sink.abort === undefined) sink.end();
          else sink.abort();
        },
      });
      return () => {
        over();
        close();
      };
    },
  };
}

function question(namespace: string, name: string) {
  return { ...refs.profiles, verb: "get", subresource: "reads", namespace, name };
}

/** Returns the user for the region. Throws 403 for a `system:` user, whose name means another user in every cluster. */
function actingUser({ name, groups }: UserInfo): UserInfo {
  if (name.startsWith("system:")) {
    const text = `forbidden: ${JSON.stringify(name)} is another user in every cluster, so it reads nothing through a coordinator`;
    throw failure(403, "Forbidden", text);
  }
  return { name, groups: groups.filter((group) => !group.startsWith("system:")) };
}

/** Parses the region and the path of a read. Throws 400, 404 and 405. */
function readPath({ path, method, upgrade }: PlainRequest): {
  readonly region: string;
  readonly path: string;
} {
  if ((method !== "GET" && method !== "HEAD") || upgrade !== undefined) {
    throw failure(405, "MethodNotAllowed", "reads are forwarded, nothing else", {});
  }
  const [, region, rest] = pathPattern.exec(path) ?? [];
  if (region === undefined || rest === undefined) {
    throw failure(404, "NotFound", "reads are at /regions/NAME/...", {});
  }
  const segments = rest.slice(1).split("/");
  const isPlain = segments.every(
    (one, at) => one !== "." && one !== ".." && (one !== "" || at === segments.length - 1),
  );
  // oxlint-disable-next-line no-control-regex -- control characters are what it asks for
  if (!isPlain || /[\x00-\x1f\x7f\\]/.test(rest)) throw badRequest("the path is not plain");
  if (segments.some((one) => actingSubresources.has(one)) && !isDiscovery(segments)) {
    throw failure(405, "MethodNotAllowed", "reads are forwarded, nothing else", {});
  }
  return { region, path: rest };
}

function isDiscovery(segments: readonly string[]): boolean {
  return segments[0] === "openapi";
}
