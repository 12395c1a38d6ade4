/** Runs a task on a thread. Guarantee: it is pure, and its answer equals that of the first try on the loop. */
import { parseExactJson } from "#base/exact-json.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { trustStructural } from "#api/structural/structural.ts";
import type { RuleFindings } from "../definitions/rules/rule-check.ts";
import { type Rules, rulesOf } from "../definitions/rules/rules.ts";
import { answerPolicy } from "./answer-policy.ts";
import { conditionErrors } from "./condition-errors.ts";
import type { ExpressionAnswer, ExpressionTask, FindingTask } from "./tasks.ts";
import { findingsOf } from "./written-expressions.ts";

const findingsMax = 1_000;

export function answerTask(task: ExpressionTask): ExpressionAnswer {
  if (task.kind === "policy") return answerPolicy(task);
  if (task.kind === "conditions") {
    return conditionErrors(parseExactJson(task.lists) as Parameters<typeof conditionErrors>[0]); // printed from one
  }
  const { errors, warnings } = runTask(task);
  return {
    errors: errors.slice(0, findingsMax),
    more: Math.max(0, errors.length - findingsMax),
    warnings: warnings.slice(0, findingsMax),
  };
}

function runTask(task: FindingTask): RuleFindings {
  const next = read(task.next);
  const old = task.old === undefined ? undefined : read(task.old);
  if (task.kind === "rules") return rulesAbout(task.schema).check(next, old);
  return { errors: findingsOf(task.resource, next, old, task.isWhole), warnings: [] };
}

function read(text: string): AnyObject {
  return parseExactJson(text) as AnyObject; // printed from one
}

/** Rules of the previous task. A client that writes many objects writes objects of one kind. */
let last: { readonly schema: string; readonly rules: Rules } | undefined;

function rulesAbout(schema: string): Rules {
  if (last?.schema !== schema) {
    const data = parseExactJson(schema) as JsonObject; // printed from one
    last = { schema, rules: rulesOf(trustStructural(data)) };
  }
  return last.rules;
}
