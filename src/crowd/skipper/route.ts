/**
 * A route of Skipper as data: conditions, filters and a backend (`eskip-print.ts` writes it, `eskip-parser.ts`
 * reads it).
 *
 * Holds  names of calls and algorithms are symbols (letters, digits, `_`): they are written as they are.
 */
export type Argument = string | number;

/** A predicate or a filter: `Host(/^example[.]org$/)`, `setPath("/")`. */
export interface Call {
  readonly name: string;
  readonly args: readonly Argument[];
}

export interface Endpoint {
  /** URL without a path: `http://10.2.9.103:8080`. */
  readonly address: string;
  /** Zone of the endpoint; "": unknown. */
  readonly zone: string;
}

export type Backend =
  | { readonly kind: "network"; readonly address: string }
  | { readonly kind: "shunt" | "loopback" | "dynamic" | "forward" }
  | {
      readonly kind: "lb";
      /** Load balancing algorithm; "": Skipper's default. */
      readonly algorithm: string;
      readonly endpoints: readonly Endpoint[];
    };

export interface Route {
  readonly id: string;
  readonly predicates: readonly Call[];
  readonly filters: readonly Call[];
  readonly backend: Backend;
}

export const algorithms: ReadonlySet<string> = new Set([
  "roundRobin",
  "random",
  "consistentHash",
  "powerOfRandomNChoices",
  "weightedRoundRobin",
  "leastRequests",
]);

export const shunt: Backend = { kind: "shunt" };

export function call(name: string, ...args: readonly Argument[]): Call {
  return { name, args };
}
