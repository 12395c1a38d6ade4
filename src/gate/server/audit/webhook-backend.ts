/**
 * Posts audit events as EventLists of audit.k8s.io/v1 to a server of the operator.
 *
 *   take ──► buffer ──(batchLinesMax, or waitMs after the last batch)──► POST, tried again with backoff
 *
 * Modes  batch (default): answers do not wait for their events. When the buffer is full, events are lost and counted,
 *        first those of requests without credentials (#platform/node/line-buffer.ts). blocking: an answer waits for its
 *        event's POST. blocking-strict: a request whose first event does not arrive is refused.
 * Bounds the buffer; `postsMax` batches under way, so that a slow server fills the buffer and not the memory; `tries`
 *        attempts per batch; `qps` batches per second after a burst of `burst`.
 * Close  posts the remaining events, without a second attempt.
 */
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { LineBuffer } from "#platform/node/line-buffer.ts";
import type { Random } from "#platform/random.ts";
import type { StagedEvent } from "./event.ts";
import type { AuditMode } from "./log-backend.ts";
import type { AuditBackend, TakeLost } from "./trail.ts";
import { type TruncateLimits, truncated } from "./truncate.ts";

export interface WebhookOptions {
  readonly mode: AuditMode;
  /** Path of the POST. */
  readonly target: string;
  /** Headers such as Authorization, obtained for each POST. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly bufferBytesMax: number;
  readonly bufferLinesMax: number;
  readonly batchLinesMax: number;
  readonly batchBytesMax: number;
  readonly waitMs: number;
  /** Rate limit of POSTs. Absent: no limit. */
  readonly throttle?: { readonly qps: number; readonly burst: number };
  readonly backoffMs: number;
  readonly truncate?: TruncateLimits;
}

interface WebhookDeps {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const postsMax = 8;
/** Upstream's retries: five tries, each wait 1.5 times the last, plus a random part of up to a fifth. */
const tries = 5;
const factor = 1.5;
const jitter = 0.2;
const postMsMax = 30_000;
const answerBytesMax = 64 * 1024;
const encoder = new TextEncoder();

export class WebhookBackend implements AuditBackend {
  readonly #deps: WebhookDeps;
  readonly #options: WebhookOptions;
  readonly #buffer: LineBuffer;
  /** For each line of the batch being taken: whether its request was unauthenticated. */
  #leaving: boolean[] = [];
  #posts = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #tokens: number;
  #tokensMs: number;
  #problem: string | undefined;
  #lost: TakeLost = () => {};
  #isClosing = false;

  constructor(deps: WebhookDeps, options: WebhookOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#buffer = new LineBuffer(options.bufferBytesMax, options.bufferLinesMax);
    this.#tokens = options.throttle?.burst ?? 0;
    this.#tokensMs = deps.clock.monotonicMs();
  }

  take(event: StagedEvent, lost: TakeLost): boolean | Promise<boolean> {
    const json = truncated(event, this.#options.truncate, lost);
    if (json === undefined) return true;
    this.#lost = lost;
    const { mode } = this.#options;
    const { isStranger } = event.writer;
    if (mode !== "batch") {
      const stored = this.#post(`{${json}}`, [isStranger]);
      return mode === "blocking-strict" ? stored : stored.then(() => true);
    }
    const lose = (of: { readonly isStranger: boolean }): void => lost("buffered", of.isStranger);
    const told = (isWritten: boolean): void => {
      if (isWritten) this.#leaving.push(isStranger);
    };
    if (!this.#buffer.push(Buffer.from(`{${json}}\n`), event.writer, lose, told))
      lose(event.writer);
    this.#schedule();
    return true;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#timer?.cancel();
    while (this.#buffer.count > 0 || this.#posts.size > 0) {
      if (this.#buffer.count > 0 && this.#posts.size < postsMax) this.#send();
      else await Promise.race(this.#posts);
    }
    this.#deps.transport.close();
  }

  /** Schedules the next POST: a full batch as soon as allowed, any other after the wait. */
  #schedule(): void {
    const { batchLinesMax, waitMs } = this.#options;
    const isFull = this.#buffer.count >= batchLinesMax;
    if (isFull && this.#posts.size < postsMax && this.#waitForTokenMs() === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
      this.#send();
      return;
    }
    if (this.#timer !== undefined || this.#posts.size >= postsMax) return;
    const after = isFull ? this.#waitForTokenMs() : Math.max(waitMs, this.#waitForTokenMs());
    this.#timer = this.#deps.clock.after("server.audit", after, () => {
      this.#timer = undefined;
      if (this.#buffer.count > 0 && this.#posts.size < postsMax) this.#send();
    });
  }

  #waitForTokenMs(): number {
    const { throttle } = this.#options;
    if (throttle === undefined) return 0;
    const nowMs = this.#deps.clock.monotonicMs();
    const grown = ((nowMs - this.#tokensMs) / 1000) * throttle.qps;
    this.#tokens = Math.min(throttle.burst, this.#tokens + grown);
    this.#tokensMs = nowMs;
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / throttle.qps) * 1000);
  }

  #send(): void {
    const { batchBytesMax, batchLinesMax } = this.#options;
    this.#tokens -= 1;
    this.#leaving = [];
    const batch = this.#buffer.chunk(batchBytesMax, batchLinesMax);
    this.#buffer.take(batch.length);
    const items = batch.toString().trimEnd().replaceAll("\n", ",");
    const post: Promise<void> = this.#post(items, this.#leaving).then(() => {
      this.#posts.delete(post);
      if (!this.#isClosing && this.#buffer.count > 0) this.#schedule();
    });
    this.#posts.add(post);
  }

  /** Never rejects. */
  async #post(items: string, ofStrangers: readonly boolean[]): Promise<boolean> {
    const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`;
    const body = encoder.encode(list);
    let waitMs = this.#options.backoffMs;
    let problem = "";
    for (let attempt = 1; attempt <= tries; attempt++) {
      try {
        await this.#postOnce(body);
        this.#problem = undefined;
        return true;
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      if (attempt === tries || this.#isClosing) break;
      await this.#wait(waitMs * (1 + jitter * (this.#deps.random.below(1_000) / 1_000)));
      waitMs *= factor;
    }
    this.#problem = problem;
    this.#deps.log.error("audit events could not be sent", {
      error: problem,
      events: ofStrangers.length,
    });
    for (const isStranger of ofStrangers) this.#lost("webhook", isStranger);
    return false;
  }

  async #postOnce(body: Uint8Array): Promise<void> {
    const { target, headers } = this.#options;
    const ending = new AbortController();
    const late = this.#deps.clock.after("server.audit", postMsMax, () => ending.abort());
    try {
      const response = await this.#deps.transport.send({
        method: "POST",
        target,
        headers: { "content-type": "application/json", accept: "application/json", ...headers() },
        body,
        signal: ending.signal,
      });
      await response.read(answerBytesMax);
      if (response.status < 200 || response.status >= 300)
        throw new Error(`the audit webhook answered ${response.status}`);
    } finally {
      late.cancel();
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.clock.after("server.audit", ms, resolve);
    });
  }
}
