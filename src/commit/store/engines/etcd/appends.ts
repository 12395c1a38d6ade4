/**
 * The appends of one opening, several under way at once. A slot is put only once the slot before it in its stripe
 * exists, so the slots of each stripe arrive in order whatever the network does:
 *
 *   batch 7 ── slot 12, if 11 is there ──▶ put                        resolves first
 *   batch 8 ── slot 13, if 12 is there ──▶ put, or unmet: once more, after batch 7 is certain
 *
 * P1  Of the appends under way, a prefix takes effect in each stripe; a batch is certain only after all earlier ones of
 *     all stripes. Slots behind a missing one are removed by the next opening (stripes.ts).
 * P2  A batch that others follow is never cut into parts: its second part could find its slot taken by a late
 *     request of a later batch. So it is sent beside others only if the cluster took as many bytes at once before.
 */
import type { AppendBatch } from "../engine.ts";
import type { LogLayout } from "./layout.ts";
import type { Segments } from "./segments.ts";
import type { StripeWatch } from "./stripe-watch.ts";
import type { Stripes } from "./stripes.ts";
import type { Writer } from "./writer.ts";

/** Members of a cluster have different request size limits. */
class UnequalMembersError extends Error {
  constructor(bytes: number) {
    super(
      `the etcd cluster refuses a request of ${bytes} bytes as too large, and took a larger one before: give its members the same --max-request-bytes`,
    );
    this.name = "UnequalMembersError";
  }
}

interface AppendsDeps {
  readonly writer: Writer;
  readonly layout: LogLayout;
  readonly segments: Segments;
  readonly stripes: Stripes;
  readonly watch: StripeWatch;
}

class Appending {
  /** Its slot is final, so the next batch may use the slot after it. */
  isPlaced = false;
  certain: Promise<void> = Promise.resolve();
}

export class Appends {
  readonly #deps: AppendsDeps;
  #nextSlot: number;
  #last: Appending | undefined;

  constructor(deps: AppendsDeps, nextSlot: number) {
    this.#deps = deps;
    this.#nextSlot = nextSlot;
  }

  /** Promises resolve in the order of calls. After one rejects, no other resolves. */
  append(batch: AppendBatch): Promise<void> {
    const earlier = this.#last;
    const own = new Appending();
    this.#last = own;
    own.certain = this.#append(batch, own, earlier);
    return own.certain;
  }

  /** Resolves when no append is in flight. */
  async ended(): Promise<void> {
    await this.#last?.certain.catch(() => undefined);
  }

  async #append(batch: AppendBatch, own: Appending, earlier: Appending | undefined): Promise<void> {
    const { writer, segments, stripes, watch } = this.#deps;
    const goesBeside = earlier?.isPlaced === true && this.#takesAtOnce(batch);
    if (!goesBeside) await earlier?.certain;
    // Uses the request size that the earlier append found out.
    own.isPlaced = this.#takesAtOnce(batch);
    const first = this.#nextSlot++;
    const ended = watch.began(stripes.of(first));
    const place = this.#place(first, own, earlier);
    const parts = await writer.putParts(batch, place).finally(ended);
    await earlier?.certain;
    if (!own.isPlaced) this.#nextSlot = first + parts;
    segments.add(first, batch.bytes, batch.lastRevision);
  }

  #takesAtOnce({ bytes }: AppendBatch): boolean {
    const { writer, stripes } = this.#deps;
    return writer.takesAtOnce(bytes, stripes.of(this.#nextSlot));
  }

  #place(
    first: number,
    own: Appending,
    earlier: Appending | undefined,
  ): Parameters<Writer["putParts"]>[1] {
    const { layout, segments, stripes } = this.#deps;
    const isFirst = segments.isEmpty && earlier === undefined;
    return {
      keyOf: (index) => layout.slot(first + index),
      afterOf: (index) => (isFirst && index === 0 ? undefined : stripes.before(first + index)),
      callsOf: (index) => stripes.of(first + index),
      earlier: earlier?.certain,
      beforeCut: (bytes) => {
        if (own !== this.#last && own.isPlaced) throw new UnequalMembersError(bytes);
        own.isPlaced = false;
      },
    };
  }
}
