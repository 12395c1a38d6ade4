/** A compiled MutatingAdmissionPolicy. */
import type { Expression } from "./expression.ts";

export interface Mutation {
  readonly type: "ApplyConfiguration" | "JSONPatch";
  readonly expression: Expression;
}

export interface MutatingProgram {
  readonly failsClosed: boolean;
  readonly conditions: readonly Expression[];
  readonly mutations: readonly Mutation[];
}
