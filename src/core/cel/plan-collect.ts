/**
 * Folds that build a list or a map. As written each step copies what was built so far, which takes time that no cost
 * counts; here the elements are gathered in place, at the cost of the step as written.
 */
import { FunctionError, checkElements } from "./libraries/limits.ts";
import { keyText, ListValue, MapValue, type Value } from "./libraries/values.ts";
import type { Frame, Step } from "./frame.ts";
import { show } from "./standard/relations.ts";
import type { Call, Comprehension, Expr } from "./syntax.ts";

type Bind = (key: Value, value: Value) => void;
type Collect = (frame: Frame, items: Iterable<readonly [Value, Value]>, bind: Bind) => Value;

interface Collected {
  plan(planOf: (expr: Expr) => Step, isConstant: (expr: Expr) => boolean): Collect;
}

/** Cost of reading `@result` and appending another list to it. */
const joinCost = 1 + 1;
/** Cost of creating a list of one element, unless it is constant. */
const elementCost = 10;
/** Cost of reading `@result` and inserting into it. */
const insertCost = 1 + 1;

interface Parts {
  readonly filter: Expr | undefined;
  readonly call: Call;
}

/** The parts of a step, without its condition, if it has one. */
function partsOf(step: Expr, name: string): Parts | undefined {
  if (step.kind !== "call") return undefined;
  if (step.name === name) return { filter: undefined, call: step };
  const [filter, then] = step.args;
  if (step.name !== "_?_:_" || then?.kind !== "call" || then.name !== name) return undefined;
  return { filter, call: then };
}

function isOurs({ accuVar, condition }: Comprehension): boolean {
  return accuVar === "@result" && condition.kind === "literal" && condition.value === true;
}

export function collectList(expr: Comprehension): Collected | undefined {
  const parts = partsOf(expr.step, "_+_");
  if (!isOurs(expr) || expr.init.kind !== "list" || parts === undefined) return undefined;
  const [, made] = parts.call.args;
  const element = made?.kind === "list" ? made.items[0] : undefined;
  if (element === undefined) return undefined;
  return {
    plan(planOf, isConstant) {
      const filter = parts.filter === undefined ? undefined : planOf(parts.filter);
      const item = planOf(element);
      const appendCost = isConstant(element) ? joinCost : joinCost + elementCost;
      return (frame, items, bind) => {
        const gathered: Value[] = [];
        for (const [key, value] of items) {
          bind(key, value);
          if (!passes(filter, frame)) continue;
          gathered.push(item(frame));
          frame.spend(appendCost);
          checkElements("map", gathered.length);
        }
        return new ListValue(gathered);
      };
    },
  };
}

function passes(filter: Step | undefined, frame: Frame): boolean {
  if (filter === undefined) return true;
  const decision = filter(frame);
  if (typeof decision !== "boolean") throw new FunctionError("no such overload");
  return decision;
}

export function collectMap(expr: Comprehension): Collected | undefined {
  const parts = partsOf(expr.step, "cel.@mapInsert");
  if (!isOurs(expr) || expr.init.kind !== "map" || parts === undefined) return undefined;
  const [, keyOrMap, valueExpr] = parts.call.args;
  if (keyOrMap === undefined) return undefined;
  return {
    plan(planOf) {
      const filter = parts.filter === undefined ? undefined : planOf(parts.filter);
      const key = planOf(keyOrMap);
      const value = valueExpr === undefined ? undefined : planOf(valueExpr);
      return (frame, items, bind) => {
        const gathered = new Gathered();
        for (const [at, held] of items) {
          bind(at, held);
          if (!passes(filter, frame)) continue;
          const first = key(frame);
          if (value !== undefined) gathered.add(first, value(frame));
          else if (first instanceof MapValue)
            for (const entry of first.entries) gathered.add(...entry);
          frame.spend(insertCost);
        }
        return gathered.finish();
      };
    },
  };
}

class Gathered {
  readonly #entries: (readonly [Value, Value])[] = [];
  readonly #keys = new Set<string>();

  add(key: Value, value: Value): void {
    const text = keyText(key);
    if (this.#keys.has(text))
      throw new FunctionError(`insert failed: key '${show(key)}' already exists`);
    this.#keys.add(text);
    this.#entries.push([key, value]);
  }

  finish(): MapValue {
    return new MapValue(this.#entries);
  }
}
