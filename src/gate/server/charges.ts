/**
 * Charges the memory of requests and answers to the caller of the request (#platform/ledger.ts). Bodies, answers and
 * open streams are each charged in one place, so that no handler has to do it.
 *
 *   request ─► workOf ───────► body, object, snapshot, patch     until its handler ends
 *   answer  ─► chargedAnswer ► answer                             until the socket has taken it
 *   stream  ─► openStream ───► watch, frames                      until it closes
 *
 * At a limit  429 with Retry-After, or 413 for a size that this caller could never hold. Refusals are short, and always
 *        charged.
 * In this process  callers share objects with the caches: nothing is charged.
 */
import type { ApiError } from "#api/status.ts";
import { failure, tooManyRequests } from "#api/status.ts";
import { anonymousName } from "#auth/groups.ts";
// uncharged: for callers in this process, see above.
import {
  type HeldKind,
  heldKinds,
  type Holding,
  type Ledger,
  type LedgerLimits,
  type Refusal,
  uncharged,
} from "#platform/ledger.ts";
import {
  answerRunBytes,
  type ByteSink,
  type Peer,
  type PlainRequest,
  type PlainResponse,
  type UserInfo,
} from "#platform/http.ts";
import type { LingeringSeat } from "./lingering-seat.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/**
 * Memory of a body while it is decoded, as a multiple of its own size, without the body itself: its text, the parsed
 * data, the checked object, and that object's bytes. Parsed data takes 1.4 bytes per byte of JSON (measured); texts
 * take one byte per character.
 */
const objectBytesPerByte = 4;
/** Bytes of a watch: a cursor, a stream, its frames' format, and the transport's state. */
const watchBytes = 4 * 1024;
/** Bytes of a watch per byte of query: a requirement of three characters (`!a,`) is an object with its texts. */
const watchBytesPerQueryByte = 48;
/** Bytes of a query without a long selector; `watchBytes` includes them. */
const plainQueryBytes = 512;
/** One second is enough for a client that reads its answers. */
const retryAfterSeconds = 1;

/** The caller to charge, and the namespace of the request. */
export interface Charged {
  readonly peer: Peer;
  readonly user: UserInfo | undefined;
  /** Namespace of the request; "" for none. */
  readonly namespace: string;
  /** Bytes of the request's query; its selectors are kept as long as the watch is open. */
  readonly queryBytes: number;
}

/** Opens a holding, the caller's memory account for one request. Its owner must close it. */
export function openHolding(ledger: Ledger, { peer, user, namespace }: Charged): Holding {
  if (peer.kind === "direct") return uncharged;
  if (user === undefined || user.name === anonymousName)
    return ledger.open(`address:${peer.address}`, namespace);
  return ledger.open(`user:${user.name}`, namespace === "" ? ownNamespace(user) : namespace);
}

/** Namespace of a service account. All accounts of a namespace are one tenant, because its users can create any number. */
function ownNamespace({ name }: UserInfo): string {
  if (!name.startsWith(accountPrefix)) return "";
  return name.slice(accountPrefix.length).split(":", 1)[0] ?? "";
}

const accountPrefix = "system:serviceaccount:";

/** Charges `bytes`. @throws ApiError 429 or 413. */
export function charge(holding: Holding, kind: HeldKind, bytes: number): void {
  if (!holding.take(kind, bytes)) throw refused(holding);
}

/** Charges `bytes` while `f` runs. @throws ApiError 429 or 413. */
export async function charged<T>(
  holding: Holding,
  kind: HeldKind,
  bytes: number,
  f: () => Promise<T>,
): Promise<T> {
  charge(holding, kind, bytes);
  try {
    return await f();
  } finally {
    holding.give(kind, bytes);
  }
}

/** Charges for the products of a body whose bytes have been read. @throws ApiError 429 or 413. */
export function chargeDecoding(holding: Holding, bodyBytes: number): void {
  charge(holding, "object", bodyBytes * objectBytesPerByte);
}

/** Error for the last refused `take`. */
export function refused({ refusal }: Holding): ApiError {
  if (refusal === undefined) return tooManyRequests("too much is held for this caller", 1);
  const text = refusalText(refusal);
  if (refusal.asked > refusal.most) return failure(413, "RequestEntityTooLarge", text);
  return tooManyRequests(text, retryAfterSeconds);
}

function refusalText({ by, asked, held, limit }: Refusal): string {
  const whose =
    by === "caller"
      ? "of one caller"
      : by === "namespace"
        ? "of one namespace"
        : "of all callers of this server";
  const numbers = `${inUnits(asked)} more were asked for, ${inUnits(held)} are held for this caller`;
  const hint = "read or end the answers that are open, or ask for less at once, and come again";
  return `the limit of ${inUnits(limit)} ${whose} is reached: ${numbers}; ${hint}`;
}

function inUnits(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.ceil(bytes / 2 ** 10)} KiB`;
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}

/** Minimum bytes of a long answer. The kernel takes shorter ones at once, so their seats are free when they are made. */
const seatAnswerBytesMin = 64 * 1024;

/** Whether an answer is long enough to keep its seat while it is being sent. */
export function isLongAnswer({ peer }: PlainRequest, response: PlainResponse): boolean {
  if (peer.kind === "direct") return false;
  if (response.kind === "stream") return response.begins !== undefined;
  if (response.kind !== "bytes") return false;
  return bodyBytes(response.body) >= seatAnswerBytesMin;
}

type BytesAnswer = Extract<PlainResponse, { kind: "bytes" }>;

/**
 * Charges the answer until it has been sent, and releases `seat` then. Undefined: the caller holds too much. The seat
 * has been released, and `refused(holding)` is the answer to send instead.
 */
export function chargedAnswer(
  { limits }: Ledger,
  holding: Holding,
  answer: BytesAnswer,
  seat?: LingeringSeat,
): BytesAnswer | undefined {
  const size = answerBytes(answer, limits);
  const leave = (): void => {
    holding.close();
    seat?.left();
    answer.left?.();
  };
  if (answer.status >= 400) holding.force("answer", size);
  else if (!holding.take("answer", size)) {
    leave();
    return undefined;
  }
  if (seat === undefined) return { ...answer, left: leave };
  return { ...answer, left: leave, moved: () => seat.moved() };
}

/** Bytes of the answer's pieces, and of the transport's copies of them. */
function answerBytes({ body, isShared }: BytesAnswer, limits: LedgerLimits): number {
  const bytes = bodyBytes(body);
  const own = isShared === true ? Math.min(bytes, limits.sharedAnswerBytesMax) : bytes;
  return own + Math.min(bytes, answerRunBytes);
}

export function bodyBytes(body: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const chunk of body) bytes += chunk.length;
  return bytes;
}

/** Charges for a stream that is about to open. @throws ApiError 429 or 413. */
export function openStream(ledger: Ledger, charged: Charged): Holding {
  const holding = openHolding(ledger, charged);
  const selector = Math.max(0, charged.queryBytes - plainQueryBytes);
  if (holding.take("watch", watchBytes + selector * watchBytesPerQueryByte)) return holding;
  const error = refused(holding);
  holding.close();
  throw error;
}

export type OpenAnswer = Extract<PlainResponse, { kind: "stream" | "tunnel" }>;

/** Attaches a holding to an answer. The stream's closer closes it; for a tunnel, the HTTP layer does. */
export function heldStream(answer: OpenAnswer, held: Holding): OpenAnswer {
  if (answer.kind === "tunnel") return { ...answer, held };
  const open = (sink: ByteSink): (() => void) => {
    const close = answer.open(sink);
    return () => {
      try {
        close();
      } finally {
        held.close();
      }
    };
  };
  return { ...answer, held, open };
}

/** Wraps a holding so that `f` is called once when it is closed. */
export function closedWith(held: Holding, f: () => void): Holding {
  let isClosed = false;
  return {
    take: (kind, bytes) => held.take(kind, bytes),
    force: (kind, bytes) => held.force(kind, bytes),
    give: (kind, bytes) => held.give(kind, bytes),
    close() {
      held.close();
      if (isClosed) return;
      isClosed = true;
      f();
    },
    get bytes() {
      return held.bytes;
    },
    get refusal() {
      return held.refusal;
    },
  };
}

/** Releases an answer that will not be sent: streams and tunnels are closed by opening them on a closed sink. */
export function closeUnopened(answer: PlainResponse): void {
  if (answer.kind === "stream") answer.open(closedSink)();
  if (answer.kind === "bytes") answer.left?.();
  if (answer.kind === "tunnel") answer.open(closedDuplex);
}

const closedSink: ByteSink = { write: () => true, onDrain: () => {}, end: () => {}, closed: true };

const closedDuplex = {
  ...closedSink,
  stream: () => Promise.reject(new Error("the caller of a tunnel holds too much")),
  abort: () => {},
};

/** Metrics of the bytes held by kind, and of the refusals by limit. */
export function describeLedger(metrics: MetricSet, ledger: Ledger): void {
  const held = "Bytes held for callers, by what they are.";
  metrics.gaugeOf("pilothouse_held_bytes", held, ["kind"], function* () {
    for (const kind of heldKinds) yield [[kind], ledger.held(kind)] as const;
  });
  const most = "The most bytes that were held for callers at once.";
  metrics.gaugeOf("pilothouse_held_bytes_peak", most, [], () => [[[], ledger.mostBytes]]);
  const refusals = "What was refused as too much was held, by whose limit.";
  metrics.gaugeOf("pilothouse_held_refusals_total", refusals, ["by"], function* () {
    for (const by of ["caller", "namespace", "process"] as const)
      yield [[by], ledger.refused(by)] as const;
  });
  const limits = "The most that may be held, by whom.";
  metrics.gaugeOf("pilothouse_held_bytes_limit", limits, ["by"], function* () {
    const { callerBytesMax, namespaceBytesMax, totalBytesMax } = ledger.limits;
    yield [["caller"], callerBytesMax];
    yield [["namespace"], namespaceBytesMax];
    yield [["process"], totalBytesMax];
  });
}
