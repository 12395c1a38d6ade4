/**
 * Estimates the maximum cost of rules from the sizes that a schema allows, and from the number of evaluations.
 *
 * Limits  `ruleCostMax` for a rule, `definitionCostMax` for all rules of a version's schema.
 * After   apiextensions-apiserver pkg/apis/apiextensions/validation/cel_validation.go.
 */
import type { Fields } from "#api/validation/fields.ts";
import { has, text } from "#api/validation/fields.ts";
import { estimateCost } from "#cel/estimate.ts";
import type { Program } from "#cel/environment.ts";
import { unlimited } from "#cel/libraries/cost-range.ts";
import { schemaSizes } from "#cel/schema-sizes.ts";
import type { SchemaNode } from "#cel/schema-types.ts";

export const ruleCostMax = 10_000_000;
export const definitionCostMax = 100_000_000;
const requestBytes = 3 * 1024 * 1024;

export function costOf(program: Program, self: SchemaNode): number {
  return estimateCost(program.checked, schemaSizes(self)).max;
}

/** Maximum number of values at a level. Undefined: an enclosing list or map declares no bound. */
export type Cardinality = number | undefined;

export function cardinalityBelow(schema: Fields, around: Cardinality): Cardinality {
  if (around === undefined) return undefined;
  const type = text(schema, "type");
  const isMap = type === "object" && has(schema, "additionalProperties");
  if (!isMap && type !== "array") return around;
  const most = schema[isMap ? "maxProperties" : "maxItems"];
  return typeof most === "number" ? multiply(around, Math.max(0, most)) : undefined;
}

export function timesOf(cost: number, cardinality: Cardinality, { minBytes }: SchemaNode): number {
  return multiply(cost, cardinality ?? Math.floor(requestBytes / (minBytes + 1)));
}

function multiply(a: number, b: number): number {
  return Math.min(a * b, unlimited);
}

export function costText(name: string, cost: number, most: number): string {
  const factor = cost / most;
  const shown = factor > 100 ? "more than 100" : factor.toFixed(factor < 1.5 ? 6 : 1);
  const hint =
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
  return `${name} exceeds budget by factor of ${shown}x (${hint})`;
}

/** Sum of the costs of all expressions of one version. */
export class TotalCost {
  total = 0;
  #largest: { readonly path: string; readonly cost: number }[] = [];

  add(path: string, cost: number): void {
    this.total = Math.min(this.total + cost, unlimited);
    if (cost < definitionCostMax / 100) return;
    this.#largest.push({ path, cost });
    this.#largest.sort((a, b) => b.cost - a.cost);
    this.#largest = this.#largest.slice(0, 4);
  }

  get largest(): readonly string[] {
    return this.#largest.map(({ path }) => path);
  }
}
