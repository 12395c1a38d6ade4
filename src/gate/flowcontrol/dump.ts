/**
 * Writes the debug pages of priority and fairness: one row per level, per queue or per request, in upstream's columns
 * and formats.
 *
 * In     the content of a gate (`Gate.dump`), and both times of the clock. Out: lines of aligned cells; each cell but
 *        the last ends with a comma.
 * After  apiserver pkg/util/flowcontrol/apf_controller_debug.go; Go's text/tabwriter with cells of 8 at least.
 * Differs  upstream counts requests whose waiting time ran out as cancelled, and its TimedoutRequests is 0. Here the
 *        two have separate counts. The rows of all three pages are sorted by the level's name. Control characters of
 *        names and paths are escaped: a client cannot add a row.
 * Cost   0.4 µs per row, one row per request; at most queues x queue length waiting requests.
 */
import type { QueueDump, Seating } from "./fair-queue.ts";
import type { LevelDump } from "./gate.ts";

/** Both clocks at one moment. Requests store monotonic times, and dumps show wall clock times. */
interface Times {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

type Row = readonly string[];

const levelColumns: Row = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];
const queueColumns: Row = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];
/** `FlowDistingsher` is upstream's spelling. */
const requestColumns: Row = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
  "StartTime",
];
const detailColumns: Row = [
  "UserName",
  "Verb",
  "APIPath",
  "Namespace",
  "Name",
  "APIVersion",
  "Resource",
  "SubResource",
];

export function dumpPriorityLevels(levels: readonly LevelDump[]): string {
  return table([levelColumns, ...levels.map(levelRow)]);
}

export function dumpQueues(levels: readonly LevelDump[]): string {
  const rows = levels.flatMap(({ name, queue }) =>
    queue.queues.map((one, index) => queueRow(name, one, index)),
  );
  return table([queueColumns, ...rows]);
}

export function dumpRequests(
  levels: readonly LevelDump[],
  times: Times,
  options: { readonly withDetails: boolean },
): string {
  const { withDetails } = options;
  const head = withDetails ? [...requestColumns, ...detailColumns] : requestColumns;
  const rows = levels.flatMap((level) =>
    placesOf(level).map((place) => {
      const row = requestRow(level.name, place, times);
      return withDetails ? [...row, ...detailCells(place.seating)] : row;
    }),
  );
  return table([head, ...rows]);
}

function levelRow(level: LevelDump): Row {
  const { queues, queueless } = level.queue;
  const executing = queues.reduce((sum, one) => sum + one.executing.length, queueless.length);
  const active = queues.filter(({ waiting }) => waiting.length > 0).length;
  return [
    level.name,
    String(active),
    String(executing === 0 && level.requestsWaiting === 0),
    // A removed level is not shown. Its waiting requests are served by its own queue.
    "false",
    String(level.requestsWaiting),
    String(executing),
    String(level.seatedCount),
    String(level.rejectedCount),
    String(level.timedOutCount),
    String(level.cancelledCount),
  ];
}

function queueRow(level: string, queue: QueueDump, index: number): Row {
  const sum = (seatsOf: (seating: Seating) => number): string =>
    String(queue.waiting.reduce((total, seating) => total + seatsOf(seating), 0));
  return [
    level,
    String(index),
    String(queue.waiting.length),
    String(queue.executing.length),
    String(queue.seatsInUse),
    seatSeconds(queue.nextR),
    sum(({ work }) => work.seats),
    sum(({ work }) => Math.max(work.seats, work.finalSeats)),
    seatSeconds(queue.waitingWork),
  ];
}

interface Place {
  readonly seating: Seating;
  /** Index of the queue. -1: the level has no queues. */
  readonly queue: number;
  /** Position in the queue. -1: the request does not wait. */
  readonly index: number;
}

function placesOf({ queue }: LevelDump): readonly Place[] {
  const queued = queue.queues.flatMap(({ waiting, executing }, at) => [
    ...waiting.map((seating, index) => ({ seating, queue: at, index })),
    ...executing.map((seating) => ({ seating, queue: at, index: -1 })),
  ]);
  return [...queued, ...queue.queueless.map((seating) => ({ seating, queue: -1, index: -1 }))];
}

function requestRow(level: string, { seating, queue, index }: Place, times: Times): Row {
  const { work, arrivedMs, seatedMs, state } = seating;
  const at = (ms: number): string => goTime(times.nowMs - (times.monotonicMs - ms));
  return [
    level,
    work.facts?.schema ?? "",
    String(queue),
    String(index),
    work.facts?.distinguisher ?? "",
    at(arrivedMs),
    String(work.seats),
    String(work.finalSeats),
    goDuration(work.extraMs),
    state === "waiting" ? zeroTime : at(seatedMs),
  ];
}

function detailCells({ work: { facts } }: Seating): Row {
  if (facts === undefined) return detailColumns.map(() => "");
  const { info, userName } = facts;
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  const groupVersion = group === "" ? version : `${group}/${version}`;
  return [userName, verb, path, namespace, name, groupVersion, resource, subresource];
}

/** Go's time.Time{} as text. */
const zeroTime = "0001-01-01T00:00:00Z";

/** Formats RFC 3339 with all non-zero decimals: Go's time.RFC3339Nano. */
function goTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.?0*Z$/, "Z");
}

/** Formats a duration below one minute as Go's Duration.String(). */
function goDuration(ms: number): string {
  if (ms === 0) return "0s";
  if (ms < 1) return `${Number((ms * 1_000).toFixed(3))}µs`;
  if (ms < 1_000) return `${Number(ms.toFixed(6))}ms`;
  return `${Number((ms / 1_000).toFixed(9))}s`;
}

function seatSeconds(value: number): string {
  return `${value.toFixed(8)}ss`;
}

const cellMin = 8;

/** Aligns cells as text/tabwriter: the last cell of a line is not padded. */
function table(rows: readonly Row[]): string {
  const lines = rows.map((row) =>
    row.map((cell, at) => printable(cell) + (at === row.length - 1 ? "" : ",")),
  );
  const widths: number[] = [];
  for (const line of lines) {
    for (const [at, cell] of line.entries())
      widths[at] = Math.max(widths[at] ?? cellMin, cell.length + 1);
  }
  return lines.map((line) => `${padded(line, widths)}\n`).join("");
}

function padded(line: Row, widths: readonly number[]): string {
  const last = line.length - 1;
  return line.map((cell, at) => (at === last ? cell : cell.padEnd(widths[at] ?? 0))).join("");
}

/** Escapes control characters, because names and paths come from clients. */
function printable(cell: string): string {
  return cell.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are what must not be printed.
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
