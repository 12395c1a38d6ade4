/**
 * Discovery and OpenAPI, which every client reads first: answers of the upstream, kept a few seconds
 * and shared, with the upstream's ETag or one made of the bytes, so that a client that has it gets a 304.
 *
 * In     paths without user data: /api, /apis, their group versions, /openapi, /version. The client is
 *        authorised for the path first; the relay then reads it with its own identity.
 * Bounds `discoveryEntriesMax` answers, `discoveryBytesMax` each; larger ones pass through.
 */
import { createHash } from "node:crypto";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import { encodePath } from "#client/path.ts";
import type { RelayLimits } from "./limits.ts";

interface Kept {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly etag: string;
  readonly askedMs: number;
}

interface DiscoveryDeps {
  readonly clock: Clock;
  readonly http: ByteTransport;
  readonly headers: () => Readonly<Record<string, string>>;
}

const discoveryPath =
  /^\/(api(\/v1)?|apis(\/[^/]+){0,2}|version|openapi\/v2|openapi\/v3(\/.*)?)\/?$/;
/** The request headers that select the form of the document. */
const formHeaders = ["accept", "accept-encoding"] as const;
const passedHeaders = ["content-type", "content-encoding", "vary", "last-modified"] as const;

/**
 * The right to read `/openapi/` must not give access to `/openapi/../api/v1/secrets`: a load balancer before
 * the upstream may resolve the dots, and the relay would ask with its own identity.
 */
const dotSegment = /(^|\/)\.{1,2}(\/|$)/;

export function isDiscovery({ method, path }: PlainRequest): boolean {
  return method === "GET" && discoveryPath.test(path) && !dotSegment.test(path);
}

export class DiscoveryCache {
  readonly #deps: DiscoveryDeps;
  readonly #limits: RelayLimits;
  readonly #kept = new Map<string, Promise<Kept | undefined>>();

  constructor(deps: DiscoveryDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Undefined: not to be kept, let it pass through. Rejects when the upstream does not answer. */
  async answer(request: PlainRequest): Promise<PlainResponse | undefined> {
    const key = [request.path, request.query, ...formHeaders.map((h) => request.headers[h])].join(
      "\n",
    );
    const kept = await this.#get(key, request);
    if (kept === undefined) return undefined;
    const headers = { ...kept.headers, etag: kept.etag };
    const known = (request.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim());
    if (known.includes(kept.etag)) return { kind: "bytes", status: 304, headers, body: [] };
    return { kind: "bytes", status: kept.status, headers, body: [kept.body] };
  }

  /** The upstream serves other resources now. */
  forget(): void {
    this.#kept.clear();
  }

  async #get(key: string, request: PlainRequest): Promise<Kept | undefined> {
    const asked = this.#kept.get(key);
    const known = await asked?.catch(() => undefined);
    const { discoveryMs } = this.#limits;
    if (known !== undefined && this.#deps.clock.monotonicMs() - known.askedMs < discoveryMs) {
      return known;
    }
    // An earlier request may have started a new fetch already.
    const current = this.#kept.get(key);
    if (current !== undefined && current !== asked) return current;
    const asking = this.#ask(request);
    this.#keep(key, asking);
    // An outage is no reason to forget what there was.
    return known === undefined ? asking : asking.catch(() => known);
  }

  #keep(key: string, asking: Promise<Kept | undefined>): void {
    const before = this.#kept.get(key);
    this.#kept.delete(key);
    this.#kept.set(key, asking);
    asking.catch(() => {
      if (this.#kept.get(key) !== asking) return;
      if (before === undefined) this.#kept.delete(key);
      else this.#kept.set(key, before);
    });
    if (this.#kept.size <= this.#limits.discoveryEntriesMax) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  async #ask(request: PlainRequest): Promise<Kept | undefined> {
    const { http, headers, clock } = this.#deps;
    const askedMs = clock.monotonicMs();
    const form: Record<string, string> = {};
    for (const name of formHeaders) {
      const value = request.headers[name];
      // own keys: a list of ours.
      if (value !== undefined) form[name] = value;
    }
    const path = encodePath(request.path);
    const response = await http.send({
      method: "GET",
      target: request.query === "" ? path : `${path}?${request.query}`,
      headers: { ...form, ...headers() },
      signal: new AbortController().signal,
    });
    const body = await response.read(this.#limits.discoveryBytesMax);
    if (body === "too-large" || response.status !== 200) return undefined;
    const kept: Record<string, string> = {};
    for (const name of passedHeaders) {
      const value = response.headers[name];
      // own keys: a list of ours.
      if (value !== undefined) kept[name] = value;
    }
    const own = `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;
    const etag = response.headers["etag"] ?? own;
    return { status: response.status, headers: kept, body, etag, askedMs };
  }
}
