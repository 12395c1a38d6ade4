/**
 * OpenTelemetry spans of one request: a root span for the request; child spans for the gates, admission and the store.
 *
 * Holds  a client's trace decides about sampling and is the parent only for administrators and the monitoring group.
 *        Other clients' traces are linked, as at upstream's public endpoint. At most `childrenMax` children; texts are
 *        cut.
 * After  upstream's endpoints/filters/traces.go, W3C Trace Context.
 */
import type { UserInfo } from "#platform/http.ts";
import type { Random } from "#platform/random.ts";
import type { RequestInfo } from "./request-info.ts";
import { readTraceparent, type RemoteSpan } from "./traceparent.ts";

export type AttributeValue = string | number | boolean;

export interface Span {
  /** Ids: 16 bytes for a trace, 8 for a span. */
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentId: Uint8Array | undefined;
  /** The client's `tracestate` header; empty for none. */
  readonly traceState: string;
  readonly link: RemoteSpan | undefined;
  readonly name: string;
  readonly isServer: boolean;
  /** Wall-clock time in ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: readonly (readonly [string, AttributeValue])[];
  readonly error: string | undefined;
}

interface TracerDeps {
  readonly random: Random;
  /** Returns the monotonic time with fractions of a millisecond. */
  readonly nowMs: () => number;
  /** Takes the spans of a finished request. Returns at once. */
  readonly export: (spans: readonly Span[]) => void;
}

interface TracedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly method: string;
  readonly path: string;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly auditId: string;
  /** Time when the request was received, on both clocks. */
  readonly receivedMs: number;
  readonly receivedWallMs: number;
}

const childrenMax = 64;
const textMax = 256;
const traceStateMax = 512;

export class Tracer {
  readonly #deps: TracerDeps;
  readonly #perMillion: number;

  /** `perMillion`: sampling rate of requests whose client does not decide. */
  constructor(deps: TracerDeps, perMillion: number) {
    this.#deps = deps;
    this.#perMillion = perMillion;
  }

  /** @returns undefined when the request is not sampled. */
  begin(request: TracedRequest): Trace | undefined {
    const remote = readTraceparent(request.headers["traceparent"]);
    const isParent = remote !== undefined && isPrivileged(request.user);
    if (isParent ? !remote.isSampled : this.#perMillion === 0) return undefined;
    const traceId = isParent ? remote.traceId : this.#deps.random.bytes(16);
    if (!isParent && !isWithin(traceId, this.#perMillion)) return undefined;
    return new Trace(this.#deps, request, traceId, { remote, isParent });
  }
}

export class Trace {
  readonly #deps: TracerDeps;
  readonly #request: TracedRequest;
  readonly #traceId: Uint8Array;
  readonly #rootId: Uint8Array;
  readonly #remote: RemoteSpan | undefined;
  readonly #isParent: boolean;
  readonly #spans: Span[] = [];
  /** Monotonic time when the last child ended. */
  #lastMs: number;

  constructor(
    deps: TracerDeps,
    request: TracedRequest,
    traceId: Uint8Array,
    from: { readonly remote: RemoteSpan | undefined; readonly isParent: boolean },
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#traceId = traceId;
    this.#remote = from.remote;
    this.#isParent = from.isParent;
    this.#rootId = deps.random.bytes(8);
    this.#lastMs = request.receivedMs;
  }

  /** Runs `work` within a child span. */
  async within<T>(
    name: string,
    work: () => T | Promise<T>,
    attributes: Span["attributes"] = [],
  ): Promise<T> {
    const startMs = this.#deps.nowMs();
    let error: string | undefined;
    try {
      return await work();
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
      throw thrown;
    } finally {
      this.#add(name, startMs, attributes, error);
    }
  }

  /** Adds a child span from the end of the last one, or from the request's arrival, until now. */
  sinceLast(name: string): void {
    this.#add(name, this.#lastMs, [], undefined);
  }

  /** Ends the trace when the answer was made. Call once. */
  end(status: number): void {
    const { info, method, path, auditId, receivedMs, headers } = this.#request;
    const root: Span = {
      traceId: this.#traceId,
      spanId: this.#rootId,
      parentId: this.#isParent ? this.#remote?.spanId : undefined,
      traceState: this.#isParent ? cut(headers["tracestate"] ?? "", traceStateMax) : "",
      link: this.#isParent ? undefined : this.#remote,
      name: rootName(method, info),
      isServer: true,
      startMs: this.#wall(receivedMs),
      endMs: this.#wall(this.#deps.nowMs()),
      attributes: [
        ["http.method", method],
        ["http.target", cut(path, textMax)],
        ["http.status_code", status],
        ["audit-id", auditId],
        ["user_agent.original", cut(headers["user-agent"] ?? "", textMax)],
      ],
      error: status >= 500 ? "" : undefined,
    };
    this.#deps.export([root, ...this.#spans]);
  }

  #add(
    name: string,
    startMs: number,
    attributes: Span["attributes"],
    error: string | undefined,
  ): void {
    const endMs = this.#deps.nowMs();
    this.#lastMs = endMs;
    if (this.#spans.length >= childrenMax) return;
    this.#spans.push({
      traceId: this.#traceId,
      spanId: this.#deps.random.bytes(8),
      parentId: this.#rootId,
      traceState: "",
      link: undefined,
      name,
      isServer: false,
      startMs: this.#wall(startMs),
      endMs: this.#wall(endMs),
      attributes,
      error: error === undefined ? undefined : cut(error, textMax),
    });
  }

  #wall(monotonicMs: number): number {
    const { receivedMs, receivedWallMs } = this.#request;
    return receivedWallMs + monotonicMs - receivedMs;
  }
}

/** Name of the root span, without names of objects or namespaces, as upstream, to keep few distinct names. */
function rootName(method: string, info: RequestInfo): string {
  if (!info.isResourceRequest) return method;
  const { prefix, group, version, namespace, resource, name, subresource } = info;
  const parts = [
    prefix.replace(/^\//, ""),
    ...(group === "" ? [] : [group]),
    version,
    ...(namespace === "" ? [] : ["namespaces", "{:namespace}"]),
    resource,
    ...(name === "" ? [] : ["{:name}"]),
    ...(subresource === "" ? [] : [subresource]),
  ];
  return cut(`${method} /${parts.join("/")}`, textMax);
}

function isPrivileged({ groups }: UserInfo): boolean {
  return groups.some((group) => group === "system:masters" || group === "system:monitoring");
}

/** OpenTelemetry's ratio by trace id: servers with the same rate sample the same traces. */
function isWithin(traceId: Uint8Array, perMillion: number): boolean {
  const half = new DataView(traceId.buffer, traceId.byteOffset + 8, 8).getBigUint64(0) >> 1n;
  return half < (BigInt(perMillion) << 63n) / 1_000_000n;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max);
}

/** Runs `work` as a child span if the request is traced. */
export function spanned<T>(
  trace: Trace | undefined,
  name: string,
  work: () => T | Promise<T>,
): T | Promise<T> {
  return trace === undefined ? work() : trace.within(name, work);
}
