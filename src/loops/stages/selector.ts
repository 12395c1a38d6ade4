/**
 * Selectors, weights and delays of stages, compiled from their fields: labels, annotations, jq's queries and CEL.
 *
 * Holds  a selector answers true or false, whatever the object has: what fails matches nothing, and its negations all,
 *        as kwok has it.
 */
import { Environment, type Program } from "#cel/environment.ts";
import { dynValue } from "#cel/json-values.ts";
import { boolType, dynType } from "#cel/type.ts";
import { parseGoDuration } from "#api/go/go-duration.ts";
import { parseTime } from "#api/values/time.ts";
import { compileQuery, type CompiledQuery } from "./query/query.ts";
import type { DelayRange, StagedObject } from "./stage.ts";
import { TemplateError } from "./template/budget.ts";

type SelectorOperator = "In" | "NotIn" | "Exists" | "DoesNotExist";
export const selectorOperators: readonly SelectorOperator[] = [
  "In",
  "NotIn",
  "Exists",
  "DoesNotExist",
];

export type Test = (object: StagedObject) => boolean;

const environment = new Environment({ variables: new Map([["self", dynType]]) });
/**
 * Maximum CEL cost: a hundredth of what an admission policy's expression may cost, because a stage is matched at each
 * change of an object.
 */
const celCostMax = 10_000;

/** @throws TemplateError */
export function celTest(text: string): Test {
  const program = celProgram(text);
  return (object) => celOutcome(program, object) === true;
}

function celProgram(text: string): Program {
  const compiled = environment.compile(text, [boolType, dynType]);
  if (compiled.kind === "errors") throw new TemplateError(compiled.message);
  return compiled.program;
}

function celOutcome(program: Program, object: StagedObject): unknown {
  const outcome = program.evaluate(new Map([["self", dynValue(object)]]), celCostMax);
  return outcome.kind === "value" ? outcome.value : undefined;
}

/** @throws TemplateError */
export function queryTest(
  key: string,
  operator: SelectorOperator,
  values: readonly string[],
): Test {
  const query = compileQuery(key);
  const wanted = new Set(values);
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) throw new TemplateError(`operator ${operator} needs values`);
    return (object) => {
      const isIn = (query.values(object) ?? []).some((one) => wanted.has(scalarText(one)));
      return isIn === (operator === "In");
    };
  }
  if (values.length > 0) throw new TemplateError(`operator ${operator} takes no values`);
  return (object) => (query.values(object) ?? []).length > 0 === (operator === "Exists");
}

/** Lists and maps never equal a listed value, so they map to a text that no value has. */
function scalarText(value: unknown): string {
  const isScalar =
    typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isScalar ? String(value) : "\u0000";
}

export function pairsTest(
  field: "labels" | "annotations",
  pairs: Readonly<Record<string, string>>,
): Test {
  const wanted = Object.entries(pairs);
  return ({ metadata }) => {
    const has = metadata?.[field] ?? {};
    return wanted.every(([name, value]) => Object.hasOwn(has, name) && has[name] === value);
  };
}

/** A number, or the text of a query that may return one (`from`). */
export interface AmountSource {
  readonly value: number | undefined;
  readonly from: string | undefined;
}

/** @throws TemplateError */
export function weightReader({
  value,
  from,
}: AmountSource): (object: StagedObject) => number | undefined {
  if (from === undefined) return () => value;
  const query = compileQuery(from);
  return (object) => {
    const [found] = query.values(object) ?? [];
    if (found === undefined) return value;
    const read = typeof found === "string" ? Number(found.trim() || Number.NaN) : found;
    return typeof read === "number" && Number.isFinite(read) ? Math.trunc(read) : undefined;
  };
}

/** @throws TemplateError */
export function delayReader(
  duration: AmountSource,
  jitter: AmountSource,
): (object: StagedObject, nowMs: number) => DelayRange {
  const read = durationReader(duration);
  const readJitter = durationReader(jitter);
  return (object, nowMs) => {
    const fromMs = read(object, nowMs);
    // As kwok: without a duration there is no jitter, and a jitter shorter than the duration replaces it.
    if (fromMs === undefined) return { fromMs: 0, toMs: 0 };
    const toMs = readJitter(object, nowMs);
    if (toMs === undefined) return { fromMs, toMs: fromMs };
    return toMs <= fromMs ? { fromMs: toMs, toMs } : { fromMs, toMs };
  };
}

function durationReader({
  value,
  from,
}: AmountSource): (object: StagedObject, nowMs: number) => number | undefined {
  if (from === undefined) return () => value;
  const query: CompiledQuery = compileQuery(from);
  return (object, nowMs) => {
    const [found] = query.values(object) ?? [];
    if (typeof found !== "string") return value;
    if (found === "") return undefined;
    const time = parseTime(found);
    if (time !== undefined) return time - nowMs;
    return parseGoDuration(found) ?? value;
  };
}
