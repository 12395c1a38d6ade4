/** A compiled Stage of kwok. Playing it parses nothing again. */
import type { Template } from "./template/syntax.ts";

export interface Stage {
  readonly name: string;
  readonly target: StageTarget;
  readonly matches: (object: StagedObject) => boolean;
  /** Undefined: the stage has no weight, for example because the source field is empty. */
  readonly weightOf: (object: StagedObject) => number | undefined;
  readonly delayOf: (object: StagedObject, nowMs: number) => DelayRange;
  readonly steps: readonly StageStep[];
  /** Whether the object that the write returned is matched at once, without waiting for the watch. */
  readonly isImmediate: boolean;
}

/** Kind that a stage applies to, for example `v1` and `Pod`. */
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

/** A delay is drawn uniformly from `fromMs` (inclusive) to `toMs` (exclusive). */
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
      /** Field that the patch applies to; "": the whole object. */
      readonly root: string;
      /** Subresource to write; "": none. */
      readonly subresource: string;
      /** Absent: a strategic patch for kinds that support it, else a merge patch. */
      readonly type?: PatchKind;
      /** User to impersonate. Absent: the service's own identity. */
      readonly asUser?: string;
    }
  | {
      readonly kind: "apply";
      readonly template: Template;
      readonly subresource: string;
      readonly type: "apply" | "merge" | "strategic";
      readonly asUser?: string;
    };
