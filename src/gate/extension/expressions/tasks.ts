/**
 * Work on expressions as data: what a thread is given, and what it answers.
 *
 * Objects and schemas are JSON texts with all digits of their integers: a text is copied faster than a structure.
 */
import type { GroupResource } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import type { ConditionErrors } from "../matching/conditions.ts";
import type { PolicyAnswer, PolicyTask } from "./policy-tasks.ts";

interface Written {
  readonly next: string;
  /** Absent: the object is new. */
  readonly old?: string;
}

/** The rules of a schema about an object. */
interface RulesTask extends Written {
  readonly kind: "rules";
  readonly schema: string;
}

/** What is wrong with an object that holds expressions. */
interface FindingsTask extends Written {
  readonly kind: "findings";
  readonly resource: GroupResource;
  /** Findings of its other fields, too. */
  readonly isWhole: boolean;
}

export type FindingTask = RulesTask | FindingsTask;

/** Whether matchConditions compile; `lists`: by webhook. */
interface ConditionsTask {
  readonly kind: "conditions";
  readonly lists: string;
}

export type ExpressionTask = FindingTask | ConditionsTask | PolicyTask;

export interface FindingAnswer {
  /** As many as a Status shows. */
  readonly errors: readonly FieldError[];
  /** Errors besides those. */
  readonly more: number;
  readonly warnings: readonly string[];
}

/** By the kind of the task. */
export type ExpressionAnswer = FindingAnswer | ConditionErrors | PolicyAnswer;
