/** The request metrics of a server, named as upstream names them so that dashboards work. */
import { ownEntry } from "#base/own.ts";
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import { isLongRunning, type RequestInfo } from "./request-info.ts";

const requestSecondsBounds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];
const responseBytesBounds = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const readVerbs = new Set(["get", "list", "watch", "head", "options"]);

/** Resource labels come only from requests that found a resource, so a scanner cannot make series. */
interface RequestOutcome {
  readonly info: RequestInfo;
  readonly known: boolean;
  readonly method: string;
  readonly code: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly dryRun: boolean;
}

export class RequestMetrics {
  readonly #total: Counter;
  readonly #seconds: Histogram;
  readonly #sliSeconds: Histogram;
  readonly #bytes: Histogram;
  readonly #inflight: Counter;
  readonly #longRunning: Counter;
  readonly #terminated: Counter;
  readonly watchEvents: Counter;
  readonly watchEventBytes: Counter;

  constructor(set: MetricSet) {
    const where = ["verb", "group", "version", "resource", "subresource", "scope", "component"];
    const kind = ["group", "version", "resource"];
    const seconds = requestSecondsBounds;
    this.#total = set.counter(
      "apiserver_request_total",
      "Requests by verb, dry run, resource, scope and response code.",
      [...where, "dry_run", "code"],
    );
    this.#seconds = set.histogram(
      "apiserver_request_duration_seconds",
      "Response latency in seconds.",
      where,
      seconds,
    );
    this.#sliSeconds = set.histogram(
      "apiserver_request_sli_duration_seconds",
      "Response latency in seconds, without time in queues and webhooks.",
      where,
      seconds,
    );
    this.#bytes = set.histogram(
      "apiserver_response_sizes",
      "Response size in bytes.",
      where,
      responseBytesBounds,
    );
    this.#inflight = set.gauge(
      "apiserver_current_inflight_requests",
      "Requests being served now, by kind.",
      ["request_kind"],
    );
    this.#longRunning = set.gauge(
      "apiserver_longrunning_requests",
      "Long-running requests open now.",
      where,
    );
    this.#terminated = set.counter(
      "apiserver_request_terminations_total",
      "Requests the server ended in self-defence.",
      [...where, "code"],
    );
    this.watchEvents = set.counter("apiserver_watch_events_total", "Watch events sent.", kind);
    this.watchEventBytes = set.counter("apiserver_watch_events_sizes", "Watch bytes sent.", kind);
  }

  /** @returns what to call when the answer is ready; an open watch counts until it closes. */
  begin(info: RequestInfo): () => void {
    if (isLongRunning(info)) return () => {};
    const kind = [readVerbs.has(info.verb) ? "readOnly" : "mutating"];
    this.#inflight.add(kind);
    return () => this.#inflight.add(kind, -1);
  }

  openStream(info: RequestInfo): () => void {
    const where = whereOf(info, "GET", true);
    this.#longRunning.add(where);
    return () => this.#longRunning.add(where, -1);
  }

  end(outcome: RequestOutcome): void {
    const where = whereOf(outcome.info, outcome.method, outcome.known);
    const code = String(outcome.code);
    this.#total.add([...where, outcome.dryRun ? "All" : "", code]);
    this.#seconds.observe(where, outcome.seconds);
    if (!isLongRunning(outcome.info)) this.#sliSeconds.observe(where, outcome.seconds);
    if (outcome.bytes > 0) this.#bytes.observe(where, outcome.bytes);
    if (outcome.code === 429 || outcome.code === 504) this.#terminated.add([...where, code]);
  }
}

const methodVerbs: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
};
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

function whereOf(info: RequestInfo, method: string, known: boolean): readonly string[] {
  if (!info.isResourceRequest || !known) {
    return [methods.has(method) ? method : "other", "", "", "", "", "", "apiserver"];
  }
  const scope = info.name !== "" ? "resource" : info.namespace !== "" ? "namespace" : "cluster";
  const { group, version, resource, subresource } = info;
  const verb = ownEntry(methodVerbs, info.verb) ?? "other";
  return [verb, group, version, resource, subresource, scope, "apiserver"];
}
