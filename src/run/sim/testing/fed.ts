/**
 * What the behaviour suite of watches needs from a cache and its source: two replicas over one truth, faults
 * on the way to them, and the truth itself to judge by.
 */
import type { FakeEvent } from "#relay/testing/fake-upstream.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchSink } from "#watch/watch-item.ts";

/** One change of the true history. For a deletion, `label` is the last label. */
export type Written = FakeEvent;

/** Changes of one revision: keys `ns0/p0`, and the value of their label `v`. Undefined deletes the object. */
export type Draft = readonly (readonly [key: string, label: string | undefined])[];

/** Faults between source and cache. A feed ignores a fault that it does not have. */
export type Fault =
  | { readonly kind: "enqueue" | "upstreamBookmark" | "compact" | "swap" | "verify" | "restart" }
  | { readonly kind: "deliver"; readonly count: number; readonly torn: boolean }
  | { readonly kind: "repeat"; readonly count: number }
  | { readonly kind: "cut"; readonly clean: boolean }
  | { readonly kind: "down"; readonly down: boolean };

/** Parameters of a client's watch. */
export interface Asked {
  readonly predicate: Predicate;
  readonly start: number | "state";
  /** Whether the last of several changes of an object is sufficient. */
  readonly latest: boolean;
}

export interface OpenWatch {
  /** Whether the watch has caught up, so that further events are delivered as they happen. */
  readonly live: boolean;
  resume(): void;
  close(): void;
}

export interface Fed {
  readonly replicas: number;
  /** All changes, in order. */
  readonly history: readonly Written[];
  /** Whether a state may show only a part of its revision if that changed several objects. The rest follows as events. */
  readonly partial: boolean;
  /** Newest revision of the true history. */
  readonly head: number;
  /** Returns a 128-bit digest of an object. Undefined: bookmarks carry no checksums. */
  readonly digestOf: ((object: CachedObject) => bigint) | undefined;
  write(draft: Draft): Promise<void>;
  /** Makes a revision that changes no object of this kind. */
  skip(): Promise<void>;
  fault(replica: number, fault: Fault): Promise<void>;
  time(ms: number): Promise<void>;
  /** Makes the wall clock jump, as when the host's clock is set by hand; no time passes. */
  jump(ms: number): void;
  /** Monotonic time of a replica, for the windows of watchers of the latest state. */
  monotonicMs(replica: number): number;
  readonly windowMs: number;
  /** Sends the periodic bookmarks. */
  bookmark(): void;
  /** Opens a watch. Undefined: the replica answers 410. */
  watch(replica: number, asked: Asked, sink: WatchSink): OpenWatch | undefined;
  /** Whether the replica may answer 410 to a client at `revision`. */
  mayRefuse(replica: number, revision: number): boolean;
  /** Whether a watch from `start` that has received everything up to `position` may end with 410. */
  mayEnd(replica: number, start: number, position: number): boolean;
  /** Whether the source never listed again, so that every event must be delivered, not just the difference. */
  readonly exact: boolean;
  /** Ends the faults, so that everything arrives. */
  settle(): Promise<void>;
  /** Asserts the other guarantees of this feed. */
  check(): void;
  close(): Promise<void>;
}
