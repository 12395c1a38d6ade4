/**
 * The request metrics of a server, with upstream's names, labels and buckets.
 *
 * Cost   requests with the same labels share a row of cells, which one look-up of a short text finds; then only
 *        additions.
 * Bounds at most `rowsMax` rows are kept ready. Further requests are counted by their label values, which the metrics
 *        bound (see metric-set.ts).
 */
import type {
  Counter,
  CounterCell,
  Histogram,
  HistogramCell,
  MetricSet,
} from "#metrics/metric-set.ts";
import { isLongRunning, type RequestInfo } from "./request-info.ts";
import { requestLabelNames, requestLabels, requestScope, requestVerb } from "./request-labels.ts";

const secondsBounds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];
const sliSecondsBounds = secondsBounds.slice(2);
const watchListSecondsBounds = [
  0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60,
];
const responseBytesBounds = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Bounds from 1 KiB, doubled seven times. */
const eventBytesBounds = Array.from({ length: 8 }, (_, power) => 1024 * 2 ** power);
const readVerbs = new Set(["get", "list", "watch", "head", "options"]);
const sizedVerbs = new Set(["GET", "LIST"]);
/** Codes by which the server ends a request in self-defence. */
const terminations = new Set([429, 504]);
const rowsMax = 5_000;

type KindLabels = Pick<RequestInfo, "group" | "version" | "resource">;
type WatchPlace = Pick<RequestInfo, "namespace" | "name">;

interface RequestOutcome {
  readonly info: RequestInfo;
  /** Whether this server serves the resource. */
  readonly known: boolean;
  readonly method: string;
  readonly isApply: boolean;
  readonly code: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly dryRun: boolean;
}

/** The series of requests of one kind. */
interface Row {
  readonly labels: readonly string[];
  readonly isLongRunning: boolean;
  readonly seconds: HistogramCell;
  /** Created at the first observation, as upstream's series are. */
  sliSeconds: HistogramCell | undefined;
  bytes: HistogramCell | undefined;
  readonly byCode: Map<number, CounterCell>;
}

export class RequestMetrics {
  readonly #total: Counter;
  readonly #seconds: Histogram;
  readonly #sliSeconds: Histogram;
  readonly #bytes: Histogram;
  readonly #inflight: InflightPeaks;
  readonly #longRunning: Counter;
  readonly #terminated: Counter;
  readonly #deprecated: Counter;
  readonly #rows = new Map<string, Row>();
  readonly #watchListSeconds: Histogram;
  readonly watchEvents: Counter;
  readonly watchEventBytes: Histogram;

  constructor(set: MetricSet) {
    const labels = requestLabelNames;
    const kind = ["group", "version", "resource"];
    const timed = [...labels, "dry_run"];
    this.#total = set.counter(
      "apiserver_request_total",
      "[STABLE] Requests by verb, dry run, kind, scope and response code.",
      [...timed, "code"],
    );
    this.#seconds = set.histogram(
      "apiserver_request_duration_seconds",
      "[STABLE] Time to the answer in seconds; of a watch, to its end.",
      timed,
      secondsBounds,
    );
    this.#sliSeconds = set.histogram(
      "apiserver_request_sli_duration_seconds",
      "[ALPHA] Time to the answer in seconds, of requests that are not long-running.",
      labels,
      sliSecondsBounds,
    );
    this.#bytes = set.histogram(
      "apiserver_response_sizes",
      "[STABLE] Bytes of the answers to GET and LIST.",
      labels,
      responseBytesBounds,
    );
    this.#inflight = new InflightPeaks(set);
    this.#longRunning = set.gauge(
      "apiserver_longrunning_requests",
      "[STABLE] Long-running requests that are open.",
      labels,
    );
    this.#terminated = set.counter(
      "apiserver_request_terminations_total",
      "[ALPHA] Requests that the server ended in self-defence.",
      [...labels, "code"],
    );
    this.#deprecated = set.gauge(
      "apiserver_requested_deprecated_apis",
      "[STABLE] 1 for each deprecated API that was asked for.",
      [...kind, "subresource", "removed_release"],
    );
    this.#watchListSeconds = set.histogram(
      "apiserver_watch_list_duration_seconds",
      "[BETA] Response latency distribution in seconds for watch list requests broken by group, version, resource and scope.",
      [...kind, "scope"],
      watchListSecondsBounds,
    );
    this.watchEvents = set.counter(
      "apiserver_watch_events_total",
      "[ALPHA] Watch events that were sent.",
      kind,
    );
    this.watchEventBytes = set.histogram(
      "apiserver_watch_events_sizes",
      "[ALPHA] Bytes of watch events that were sent; events that leave together count with their mean.",
      kind,
      eventBytesBounds,
    );
  }

  /** @returns a function to call when the answer is ready. Long-running requests are counted by `openStream`. */
  begin(info: RequestInfo): () => void {
    if (isLongRunning(info)) return () => {};
    return this.#inflight.enter(readVerbs.has(info.verb) ? "readOnly" : "mutating");
  }

  /** Records the use of a deprecated API. No served API has a release that removes it. */
  deprecatedUsed({
    group,
    version,
    resource,
    subresource,
  }: Pick<RequestInfo, "group" | "version" | "resource" | "subresource">): void {
    this.#deprecated.set([group, version, resource, subresource, ""], 1);
  }

  /** Records the time from the receipt of a watch to the bookmark that ends its initial events. */
  watchListed({ group, version, resource }: KindLabels, place: WatchPlace, seconds: number): void {
    const { namespace, name } = place;
    const scope = requestScope({ namespace, name, verb: "watch" });
    this.#watchListSeconds.observe([group, version, resource, scope], seconds);
  }

  openStream(info: RequestInfo): () => void {
    const cell = this.#longRunning.cell(requestLabels(info, requestVerb(info, "GET", false), true));
    cell.count++;
    return () => void cell.count--;
  }

  end(outcome: RequestOutcome): void {
    const { code, seconds, bytes } = outcome;
    const row = this.#row(outcome);
    const counted = row.byCode.get(code) ?? this.#codeCell(row, outcome);
    counted.count++;
    row.seconds.observe(seconds);
    if (!row.isLongRunning) {
      row.sliSeconds ??= this.#sliSeconds.cell(row.labels);
      row.sliSeconds.observe(seconds);
    }
    if (bytes > 0 && sizedVerbs.has(row.labels[0] ?? "")) {
      row.bytes ??= this.#bytes.cell(row.labels);
      row.bytes.observe(bytes);
    }
    if (terminations.has(code)) this.#terminated.add([...row.labels, String(code)]);
  }

  #row(outcome: RequestOutcome): Row {
    const { info, method, isApply, known, dryRun } = outcome;
    const key = keyOf(info, requestVerb(info, method, isApply), known, dryRun);
    return this.#rows.get(key) ?? this.#makeRow(outcome, key);
  }

  #makeRow({ info, method, isApply, known, dryRun }: RequestOutcome, key: string): Row {
    const labels = requestLabels(info, requestVerb(info, method, isApply), known);
    const row = {
      labels,
      isLongRunning: isLongRunning(info),
      seconds: this.#seconds.cell([...labels, dryRunLabel(dryRun)]),
      sliSeconds: undefined,
      bytes: undefined,
      byCode: new Map<number, CounterCell>(),
    };
    if (this.#rows.size < rowsMax) this.#rows.set(key, row);
    return row;
  }

  #codeCell({ labels, byCode }: Row, { dryRun, code }: RequestOutcome): CounterCell {
    const cell = this.#total.cell([...labels, dryRunLabel(dryRun), String(code)]);
    byCode.set(code, cell);
    return cell;
  }
}

/** Key of a row, joined by a character that no path segment has. Other paths: the verb and the first segment. */
function keyOf(info: RequestInfo, verb: string, known: boolean, dryRun: boolean): string {
  const dry = dryRun ? "/dry" : "/";
  if (!info.isResourceRequest || !known) {
    const { path } = info;
    const end = path.indexOf("/", 1);
    const first =
      info.isResourceRequest || path.length > 64 ? "" : path.slice(1, end < 0 ? 64 : end);
    return `${verb}${dry}/${first}`;
  }
  const { group, version, resource, subresource, name, namespace } = info;
  const scope = name !== "" ? "r" : namespace !== "" ? "n" : "c";
  return `${verb}${dry}/${group}/${version}/${resource}/${subresource}/${scope}`;
}

function dryRunLabel(dryRun: boolean): string {
  return dryRun ? "All" : "";
}

type InflightKind = "readOnly" | "mutating";

/** Requests in flight: each scrape shows the maximum since the scrape before. */
class InflightPeaks {
  readonly #now = { readOnly: 0, mutating: 0 };
  readonly #peak = { readOnly: 0, mutating: 0 };

  constructor(set: MetricSet) {
    set.gaugeOf(
      "apiserver_current_inflight_requests",
      "[STABLE] Most requests in flight at once since the last scrape, by kind.",
      ["request_kind"],
      () => this.#takePeaks(),
    );
  }

  enter(kind: InflightKind): () => void {
    const count = ++this.#now[kind];
    if (count > this.#peak[kind]) this.#peak[kind] = count;
    return kind === "readOnly" ? this.#leaveReadOnly : this.#leaveMutating;
  }

  readonly #leaveReadOnly = (): void => void this.#now.readOnly--;
  readonly #leaveMutating = (): void => void this.#now.mutating--;

  *#takePeaks(): Generator<readonly [readonly string[], number]> {
    for (const kind of ["mutating", "readOnly"] as const) {
      yield [[kind], this.#peak[kind]];
      this.#peak[kind] = this.#now[kind];
    }
  }
}
