/** A Stage of kwok, compiled: nothing of it is parsed again when it is played. */
import type { Template } from "./template/syntax.ts";

export interface Stage {
  readonly name: string;
  readonly target: StageTarget;
  readonly matches: (object: StagedObject) => boolean;
  /** Undefined: it has none, as when what it is read from is empty. */
  readonly weightOf: (object: StagedObject) => number | undefined;
  readonly delayOf: (object: StagedObject, nowMs: number) => DelayRange;
  readonly steps: readonly StageStep[];
  /** What its write answers is looked at at once, not when the watch brings it. */
  readonly isImmediate: boolean;
}

/** What a stage is for: `v1` and `Pod`. */
export interface StageTarget {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An object of the API as stages read it. */
export interface StagedObject {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Chosen evenly from `fromMs` on, below `toMs`. */
export interface DelayRange {
  readonly fromMs: number;
  readonly toMs: number;
}

type PatchKind = "json" | "merge" | "strategic";

export type StageStep =
  | {
      readonly kind: "event";
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    }
  | {
      readonly kind: "finalizers";
      readonly add: readonly string[];
      readonly remove: readonly string[];
      readonly isEmptied: boolean;
    }
  | { readonly kind: "delete" }
  | {
      readonly kind: "patch";
      readonly template: Template;
      /** "" : the object itself. */
      readonly root: string;
      /** "": none. */
      readonly subresource: string;
      /** Absent: strategic for kinds that have it. */
      readonly type?: PatchKind;
      /** Absent: as ourselves. */
      readonly asUser?: string;
    }
  | {
      readonly kind: "apply";
      readonly template: Template;
      readonly subresource: string;
      readonly type: "apply" | "merge" | "strategic";
      readonly asUser?: string;
    };
