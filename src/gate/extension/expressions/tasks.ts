/**
 * Data types for work on expressions: the tasks for a thread, and its results.
 *
 * Objects and schemas are JSON texts with all digits of their integers: copying a text is faster than copying a
 * structure.
 */
import type { GroupResource } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import type { ConditionErrors } from "../matching/conditions.ts";
import type { PolicyAnswer, PolicyTask } from "./policy-tasks.ts";

interface Written {
  readonly next: string;
  /** Old object. Absent: the object is new. */
  readonly old?: string;
}

/** Evaluates the rules of a schema for an object. */
interface RulesTask extends Written {
  readonly kind: "rules";
  readonly schema: string;
}

/** Finds the errors of an object that contains expressions. */
interface FindingsTask extends Written {
  readonly kind: "findings";
  readonly resource: GroupResource;
  /** Whether errors of its other fields are included. */
  readonly isWhole: boolean;
}

export type FindingTask = RulesTask | FindingsTask;

/** Checks whether matchConditions compile. `lists`: conditions by webhook. */
interface ConditionsTask {
  readonly kind: "conditions";
  readonly lists: string;
}

export type ExpressionTask = FindingTask | ConditionsTask | PolicyTask;

export interface FindingAnswer {
  /** The first errors: as many as a Status shows. */
  readonly errors: readonly FieldError[];
  /** Number of further errors. */
  readonly more: number;
  readonly warnings: readonly string[];
}

/** Answer, by the kind of the task. */
export type ExpressionAnswer = FindingAnswer | ConditionErrors | PolicyAnswer;
