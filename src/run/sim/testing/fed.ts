/**
 * What the behaviour suite of watches needs from a cache and its source: two replicas over one truth, faults
 * on the way to them, and the truth itself to judge by.
 */
import type { FakeEvent } from "#relay/testing/fake-upstream.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchSink } from "#watch/watch-item.ts";

/** One change of the truth; `label` of a deletion is the last it had. */
export type Written = FakeEvent;

/** One revision: keys `ns0/p0`, and the value of their label `v`; undefined deletes. */
export type Draft = readonly (readonly [key: string, label: string | undefined])[];

/** What may happen on the way; a feed that has no such fault does nothing. */
export type Fault =
  | { readonly kind: "enqueue" | "upstreamBookmark" | "compact" | "swap" | "verify" | "restart" }
  | { readonly kind: "deliver"; readonly count: number; readonly torn: boolean }
  | { readonly kind: "repeat"; readonly count: number }
  | { readonly kind: "cut"; readonly clean: boolean }
  | { readonly kind: "down"; readonly down: boolean };

/** What a client asks for. */
export interface Asked {
  readonly predicate: Predicate;
  readonly start: number | "state";
  /** Of several changes of an object the last is enough. */
  readonly latest: boolean;
}

export interface OpenWatch {
  /** It has caught up: further events are delivered as they happen. */
  readonly live: boolean;
  resume(): void;
  close(): void;
}

export interface Fed {
  readonly replicas: number;
  /** Everything that ever changed, in order. */
  readonly history: readonly Written[];
  /** A state may show a part of its revision, where that changed several objects; the rest follows as events. */
  readonly partial: boolean;
  /** Newest revision of the truth. */
  readonly head: number;
  /** 128 bits of an object, when bookmarks carry sums. */
  readonly digestOf: ((object: CachedObject) => bigint) | undefined;
  write(draft: Draft): Promise<void>;
  /** A revision of something else. */
  skip(): Promise<void>;
  fault(replica: number, fault: Fault): Promise<void>;
  time(ms: number): Promise<void>;
  /** Jumps the wall clock, as when the host's clock is set by hand; no time passes. */
  jump(ms: number): void;
  /** Of a replica, for the windows of watchers of the latest state. */
  monotonicMs(replica: number): number;
  readonly windowMs: number;
  /** Periodic bookmarks are due. */
  bookmark(): void;
  /** Undefined: 410. */
  watch(replica: number, asked: Asked, sink: WatchSink): OpenWatch | undefined;
  /** Whether that replica may answer 410 to a client at `revision`. */
  mayRefuse(replica: number, revision: number): boolean;
  /** Whether a watch from `start` that has got everything up to `position` may end with 410. */
  mayEnd(replica: number, start: number, position: number): boolean;
  /** The source never relisted: every event must be delivered, not just the difference. */
  readonly exact: boolean;
  /** Faults are over: everything arrives. */
  settle(): Promise<void>;
  /** What this feed promises besides; asserts. */
  check(): void;
  close(): Promise<void>;
}
