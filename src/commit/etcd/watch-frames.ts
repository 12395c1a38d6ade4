/**
 * The responses of a watch as frames to send, made once for all watches that receive the same
 * commits and requested the same options. In a crowd on one prefix, each with a stream of its own, these are all.
 *
 * Bounds  frames are kept for what the store delivers within one turn. They are dropped in a microtask,
 *         because events are views that pin the store's memory.
 */
import type { Commit } from "#store/store.ts";
import { watchResponseRaw } from "#wire/etcd-messages.ts";
import { framed, prefixBytes } from "#wire/grpc.ts";
import { EventEncoder } from "./event-encoder.ts";
import type { Identity } from "./identity.ts";
import { cutResponses, type Cut } from "./watch-responses.ts";

/** One framed message in the form of `ServerStream.sendPieces`. Shared and immutable. */
export type Frame = readonly [Buffer];

interface FrameContext {
  /** Whether other watches may get the same commits. */
  readonly shared: boolean;
  /** Previous values of changes at or below this revision are compacted and not sent. */
  readonly compactRevision: number;
}

interface Made {
  readonly id: number;
  readonly commits: readonly Commit[];
  readonly compactRevision: number;
  readonly frames: readonly Frame[];
}

export class WatchFrames {
  readonly #identity: Identity;
  readonly #encoder = new EventEncoder();
  /** The most recent frames, by the watch options they were made for. */
  readonly #made = new Map<string, Made>();
  #forgetting = false;

  constructor(identity: Identity) {
    this.#identity = identity;
  }

  of(id: number, cut: Cut, commits: readonly Commit[], context: FrameContext): readonly Frame[] {
    if (!context.shared) return this.#make(id, cut, commits, context);
    const { compactRevision } = context;
    const made = this.#made.get(cut.asked);
    if (
      made?.id === id &&
      made.compactRevision === compactRevision &&
      same(made.commits, commits)
    ) {
      return made.frames;
    }
    const frames = this.#make(id, cut, commits, context);
    this.#made.set(cut.asked, { id, commits, compactRevision, frames });
    this.#forgetLater();
    return frames;
  }

  #make(id: number, cut: Cut, commits: readonly Commit[], context: FrameContext): Frame[] {
    const responses = cutResponses(cut, commits, { ...context, encoder: this.#encoder });
    return responses.map(({ revision, events, fragment }) => {
      const response = { header: this.#identity.header(revision), watchId: id, fragment, events };
      return [framed(watchResponseRaw.encode(response, prefixBytes))];
    });
  }

  #forgetLater(): void {
    if (this.#forgetting) return;
    this.#forgetting = true;
    queueMicrotask(() => {
      this.#forgetting = false;
      this.#made.clear();
      this.#encoder.forget();
    });
  }
}

function same(a: readonly Commit[], b: readonly Commit[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
