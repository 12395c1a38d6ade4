/**
 * Discovery and OpenAPI, which every client reads first: answers of the upstream, kept a few seconds
 * and shared, with the upstream's ETag or one made of the bytes, so that a client that has it gets a 304.
 *
 * In     paths without user data: /api, /apis, their group versions, /openapi, /version. The client is
 *        authorised for the path first; the relay then reads it with its own identity.
 * Bounds `discoveryEntriesMax` answers, `discoveryBytesMax` each; larger ones pass through.
 */
import { createHash } from "node:crypto";
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import { encodePath } from "#client/path.ts";
import { UpstreamReadiness } from "./access/upstream-readiness.ts";
import type { RelayLimits } from "./limits.ts";

interface Kept {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly etag: string;
  readonly askedMs: number;
}

/** State of one document: its last answer, and the question in flight. */
interface Entry {
  kept: Kept | undefined;
  asking: Asking | undefined;
}

interface Asking {
  readonly answer: Promise<Kept | undefined>;
  readonly sinceMs: number;
}

interface DiscoveryDeps {
  readonly clock: Clock;
  readonly http: ByteTransport;
  /** Transport that sends requests without credentials. */
  readonly anonymousHttp: ByteTransport;
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
  readonly #readiness: UpstreamReadiness;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: DiscoveryDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#readiness = new UpstreamReadiness(deps);
  }

  /** Returns undefined when the document is not cacheable or has never been answered: the request must pass through. */
  async answer(request: PlainRequest): Promise<PlainResponse | undefined> {
    const key = [request.path, request.query, ...formHeaders.map((h) => request.headers[h])].join(
      "\n",
    );
    const kept = await this.#get(key, request).catch(passedOn);
    if (kept === undefined) return undefined;
    const headers = { ...kept.headers, etag: kept.etag };
    const known = (request.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim());
    if (known.includes(kept.etag)) return { kind: "bytes", status: 304, headers, body: [] };
    return { kind: "bytes", status: kept.status, headers, body: [kept.body] };
  }

  /** Drops all documents, because the upstream now serves other resources. */
  forget(): void {
    this.#entries.clear();
  }

  #get(key: string, request: PlainRequest): Promise<Kept | undefined> {
    const known = this.#entries.get(key) ?? { kept: undefined, asking: undefined };
    const { kept } = known;
    const nowMs = this.#deps.clock.monotonicMs();
    if (kept !== undefined && nowMs - kept.askedMs < this.#limits.discoveryMs) {
      return Promise.resolve(kept);
    }
    const asking = known.asking ?? this.#startAsking(key, known, request);
    return kept === undefined ? asking.answer : this.#orKept(asking, kept);
  }

  /** Returns the new answer, or the kept one when the upstream is unreachable or takes too long. */
  #orKept({ answer, sinceMs }: Asking, kept: Kept): Promise<Kept | undefined> {
    const { clock } = this.#deps;
    const waitMs = sinceMs + this.#limits.reviewWaitMs - clock.monotonicMs();
    return new Promise((resolve) => {
      const timer = clock.after("relay.review", Math.max(waitMs, 0), () => resolve(kept));
      answer.then(resolve, () => resolve(kept)).finally(() => timer.cancel());
    });
  }

  #startAsking(key: string, entry: Entry, request: PlainRequest): Asking {
    const sinceMs = this.#deps.clock.monotonicMs();
    const answer = this.#ask(request).then(
      (kept) => {
        entry.asking = undefined;
        entry.kept = kept;
        if (kept === undefined) this.#drop(key, entry);
        return kept;
      },
      (error: unknown) => {
        entry.asking = undefined;
        if (entry.kept === undefined) this.#drop(key, entry);
        throw error;
      },
    );
    entry.asking = { answer, sinceMs };
    this.#keep(key, entry);
    return entry.asking;
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#limits.discoveryEntriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  /** Drops the entry of `key` only if it is still this one: after `forget` a new entry may have taken its place. */
  #drop(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
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
    const { status } = response;
    if (isBusy(status) || (status !== 200 && !(await this.#readiness.isReady()))) {
      throw new ByteTransportError(`the upstream answers ${status}`, "EBUSY");
    }
    if (body === "too-large" || status !== 200) return undefined;
    const kept: Record<string, string> = {};
    for (const name of passedHeaders) {
      const value = response.headers[name];
      // own keys: a list of ours.
      if (value !== undefined) kept[name] = value;
    }
    const own = `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;
    const etag = response.headers["etag"] ?? own;
    return { status, headers: kept, body, etag, askedMs };
  }
}

/** Whether the status means that a load balancer cannot reach the upstream, or that the upstream is overloaded. */
function isBusy(status: number): boolean {
  return status >= 500 || status === 429;
}

/** The upstream is unreachable and no document is kept: the request passes through and gets the usual error there. */
function passedOn(error: unknown): undefined {
  if (!(error instanceof ByteTransportError)) throw error;
}
