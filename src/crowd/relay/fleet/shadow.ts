/**
 * Shadow mode: a share of the reads answered here is asked of the upstream too, as the same user and
 * at the same resourceVersion, and the two answers are compared by content: a proof before clients are
 * moved behind a relay, and monitoring afterwards.
 *
 * Holds  the client never waits for it; a difference is counted, and logged by names without contents.
 *        What cannot be asked at the same moment (an object that moved on, history that is gone, an
 *        upstream that is away) is "unknown", not a difference.
 * Bounds `shadowsMax` questions at once, answers up to `shadowBytesMax`; beyond them "skipped".
 */
import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { encodePath } from "#client/path.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Counter } from "#metrics/metric-set.ts";
import type { Caller } from "../access/entry-point.ts";
import { impersonationHeaders } from "../access/impersonation.ts";

interface ShadowDeps {
  readonly http: ByteTransport;
  /** Headers with the relay's own credential. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly random: Random;
  readonly log: Log;
  /** Number of comparisons, by resource and outcome: equal, different, unknown, skipped. */
  readonly looked: Counter;
}

interface ShadowOptions {
  /** Share of the comparable reads that are compared, 0 to 1. */
  readonly rate: number;
  readonly shadowsMax: number;
  readonly shadowBytesMax: number;
}

/** A read that was answered from the mirror. */
interface ShadowedRead {
  readonly resource: string;
  readonly verb: string;
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  readonly caller: Caller;
}

type Outcome = "equal" | "different" | "unknown" | "skipped";

/** Maximum number of names in a log line for each kind of difference. */
const namesMax = 5;
const answerMsMax = 30_000;
const parts = 1_000_000;

export class Shadow {
  readonly #deps: ShadowDeps;
  readonly #options: ShadowOptions;
  #asking = 0;

  constructor(deps: ShadowDeps, options: ShadowOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Compares a sample of responses with the upstream's. Never throws; resolves when the comparison is done. */
  async look(read: ShadowedRead, response: PlainResponse): Promise<void> {
    const { rate, shadowsMax } = this.#options;
    if (response.kind !== "bytes" || !isComparable(read, response)) return;
    if (this.#deps.random.below(parts) >= rate * parts) return;
    if (this.#asking >= shadowsMax) return this.#count(read, "skipped");
    this.#asking++;
    try {
      this.#count(read, await this.#compare(read, response));
    } catch (error) {
      this.#deps.log.debug("a shadow read failed", {
        resource: read.resource,
        error: String(error),
      });
      this.#count(read, "unknown");
    } finally {
      this.#asking--;
    }
  }

  #count({ resource }: ShadowedRead, outcome: Outcome): void {
    this.#deps.looked.add([resource, outcome]);
  }

  async #compare(
    read: ShadowedRead,
    response: Extract<PlainResponse, { kind: "bytes" }>,
  ): Promise<Outcome> {
    const { shadowBytesMax } = this.#options;
    const bytes = response.body.reduce((sum, chunk) => sum + chunk.length, 0);
    if (bytes > shadowBytesMax) return "skipped";
    const ours = parseAnswer(response);
    if (isPage(read, ours)) return "skipped";
    const answer = await this.#ask(read, ours);
    if (answer.status !== 200) {
      await answer.read(0);
      return "unknown";
    }
    const body = await answer.read(shadowBytesMax);
    if (body === "too-large") return "skipped";
    const theirs = JSON.parse(new TextDecoder().decode(body)) as ReadObject;
    return this.#verdict(read, ours, theirs);
  }

  #ask({ request, query, verb, caller }: ShadowedRead, ours: ReadObject) {
    const asked = new URLSearchParams(query);
    if (verb === "list") {
      asked.set("resourceVersion", ours.metadata?.resourceVersion ?? "");
      asked.set("resourceVersionMatch", "Exact");
    } else asked.delete("resourceVersion");
    const target = `${encodePath(request.path)}?${asked.toString()}`;
    const acting = caller === undefined ? {} : impersonationHeaders(caller);
    const headers = { ...this.#deps.headers(), ...acting, accept: "application/json" };
    const signal = AbortSignal.timeout(answerMsMax);
    return this.#deps.http.send({ method: "GET", target, headers, signal });
  }

  #verdict(read: ShadowedRead, ours: ReadObject, theirs: ReadObject): Outcome {
    if (versionOf(ours) !== versionOf(theirs)) return "unknown";
    const found = differences(ours, theirs);
    const { missing, extra, changed } = found;
    if (missing.length + extra.length + changed.length === 0) return "equal";
    const { resource, request } = read;
    const few = (names: readonly string[]): readonly string[] => names.slice(0, namesMax);
    this.#deps.log.warn("the relay's answer differs from its upstream's", {
      resource,
      path: request.path,
      resourceVersion: versionOf(ours),
      missing: few(missing),
      extra: few(extra),
      changed: few(changed),
      differences: missing.length + extra.length + changed.length,
    });
    return "different";
  }
}

interface ReadObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
  };
  readonly items?: readonly ReadObject[];
}

interface Differences {
  /** Names of objects in the upstream's answer only; `extra`: in the relay's only; `changed`: in both with different content. */
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  readonly changed: readonly string[];
}

/** Compares two answers to the same request by content; the order of JSON members does not matter. */
function differences(ours: ReadObject, theirs: ReadObject): Differences {
  const [here, there] = [byName(ours), byName(theirs)];
  const missing = [...there.keys()].filter((name) => !here.has(name));
  const extra = [...here.keys()].filter((name) => !there.has(name));
  const changed = [...here.keys()].filter((name) => {
    const other = there.get(name);
    return other !== undefined && !isDeepStrictEqual(here.get(name), other);
  });
  return { missing, extra, changed };
}

function byName(answer: ReadObject): Map<string, ReadObject> {
  const objects = answer.items ?? [answer];
  return new Map(objects.map((object) => [nameOf(object), object]));
}

function nameOf({ metadata = {} }: ReadObject): string {
  const { namespace, name = "" } = metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function versionOf({ metadata }: ReadObject): string {
  return metadata?.resourceVersion ?? "";
}

/** Whether the answer is JSON: the bytes of other forms depend on their encoder. */
function isComparable(
  { verb }: ShadowedRead,
  response: Extract<PlainResponse, { kind: "bytes" }>,
): boolean {
  if (response.status !== 200 || (verb !== "list" && verb !== "get")) return false;
  return response.headers["content-type"] === "application/json";
}

/** Whether the answer is part of a list; its end depends on tokens. A list within its limit is not a part. */
function isPage({ query }: ShadowedRead, { metadata }: ReadObject): boolean {
  return query.has("continue") || (metadata?.continue ?? "") !== "";
}

function parseAnswer({ headers, body }: Extract<PlainResponse, { kind: "bytes" }>): ReadObject {
  const bytes = Buffer.concat(body);
  const plain = headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
  return JSON.parse(plain.toString()) as ReadObject;
}
