/**
 * Evaluates the little of CEL that the library tests are written in: literals, lists, maps, calls, `==`.
 * A test's tool: no checker, no operators, no comprehensions. Counts costs and estimates beside.
 */
import { callCost, sizeOf } from "./call-cost.ts";
import { estimateCall } from "./call-estimate.ts";
import type { EstimateNode } from "./call-estimate.ts";
import { addRanges, fixedRange, multiplyRanges, scaleRange, unknownRange } from "./cost-range.ts";
import type { Range } from "./cost-range.ts";
import { jsonPatchLibrary } from "./jsonpatch-library.ts";
import { librariesOf } from "./kubernetes.ts";
import { textOf } from "./library.ts";
import type { LibraryOverload, LibraryType } from "./library.ts";
import { FunctionError } from "./limits.ts";
import {
  Duration,
  Timestamp,
  TypeValue,
  Uint,
  equalValues,
  listItems,
  listValue,
  mapEntries,
  mapValue,
  typeName,
} from "./values.ts";
import type { Value } from "./values.ts";

interface Outcome {
  readonly value: Value;
  readonly cost: number;
  readonly estimate: Range;
  readonly node: EstimateNode;
  /** Known before evaluation: its cost is estimated, but not counted. */
  readonly isConstant: boolean;
}

type Variables = Readonly<Record<string, { readonly value: Value; readonly size?: Range }>>;

const tokenRegex =
  /\s*(?:(b?"(?:[^"\\]|\\.)*")|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?u?)|([A-Za-z_@][A-Za-z0-9_]*)|(==|[[\](){},.:]))/y;

function tokensOf(text: string): string[] {
  tokenRegex.lastIndex = 0;
  const tokens: string[] = [];
  while (tokenRegex.lastIndex < text.length) {
    const match = tokenRegex.exec(text);
    if (match === null) throw new Error(`the tests' reader does not know: ${text}`);
    tokens.push(match[0].trimStart());
  }
  return tokens;
}

export class TestEvaluator {
  readonly #functions = new Map<string, LibraryOverload[]>();
  readonly #variables: Variables;
  readonly #sizes = new Map<string, Range>();
  #tokens: string[] = [];
  #at = 0;

  constructor(minor: number, variables: Variables) {
    this.#variables = variables;
    for (const library of [...librariesOf(minor), jsonPatchLibrary]) {
      for (const { name, overloads } of library.functions) {
        this.#functions.set(name, [...(this.#functions.get(name) ?? []), ...overloads]);
      }
    }
    for (const [name, { size }] of Object.entries(variables)) {
      if (size !== undefined) this.#sizes.set(name, size);
    }
  }

  /** Throws FunctionError where evaluation fails. */
  evaluate(text: string): Outcome {
    this.#tokens = tokensOf(text);
    this.#at = 0;
    const left = this.#readPostfix();
    const outcome = this.#peek() === "==" ? this.#readEquality(left) : left;
    if (this.#at !== this.#tokens.length) throw new Error(`the tests' reader stopped in: ${text}`);
    return outcome;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error("the expression ends too early");
    this.#at += 1;
    return token;
  }

  #readEquality(left: Outcome): Outcome {
    this.#next();
    const right = this.#readPostfix();
    const small = Math.min(sizeOf(left.value), sizeOf(right.value));
    const cost = callCost("_==_", "equals", [left.value, right.value]) ?? Math.ceil(small * 0.1);
    const estimate = estimateCall("_==_", "equals", undefined, [left.node, right.node], this.#size);
    return {
      value: equalValues(left.value, right.value),
      cost: left.cost + right.cost + cost,
      estimate: [left.estimate, right.estimate].reduce(
        addRanges,
        estimate?.cost ?? fixedRange(cost),
      ),
      node: { type: { name: "bool", isParameter: false, parameters: [] } },
      isConstant: false,
    };
  }

  readonly #size = (node: EstimateNode): Range | undefined => this.#sizes.get(node.path?.[0] ?? "");

  #readPostfix(): Outcome {
    let left = this.#readPrimary();
    while (this.#peek() === ".") {
      this.#next();
      const name = this.#next();
      left = this.#call(name, left, this.#readList("(", ")"));
    }
    return left;
  }

  #readPrimary(): Outcome {
    const token = this.#peek() ?? "";
    if (token === "[") return this.#listOutcome(this.#readList("[", "]"));
    if (token === "{") return this.#readMap();
    this.#next();
    if (token.endsWith('"')) return literal(stringLiteral(token));
    if (/^-?[0-9]/.test(token)) return literal(numberLiteral(token));
    if (token === "true" || token === "false") return literal(token === "true");
    if (token === "null") return literal(null);
    return this.#readName(token);
  }

  #readName(name: string): Outcome {
    if (this.#peek() === "(") return this.#call(name, undefined, this.#readList("(", ")"));
    const variable = this.#variables[name];
    if (variable !== undefined) {
      const node = { type: typeOf(variable.value), path: [name] };
      return {
        value: variable.value,
        cost: 1,
        estimate: fixedRange(1),
        node,
        isConstant: false,
      };
    }
    if (this.#peek() !== ".") return literal(new TypeValue(name));
    this.#next();
    return this.#call(`${name}.${this.#next()}`, undefined, this.#readList("(", ")"));
  }

  #readList(open: string, close: string): Outcome[] {
    if (this.#next() !== open) throw new Error(`expected ${open}`);
    const items: Outcome[] = [];
    while (this.#peek() !== close) {
      if (items.length > 0 && this.#next() !== ",") throw new Error("expected a comma");
      items.push(this.#readPostfix());
    }
    this.#next();
    return items;
  }

  #readMap(): Outcome {
    this.#next();
    const parts: Outcome[] = [];
    while (this.#peek() !== "}") {
      if (parts.length > 0 && this.#next() !== ",") throw new Error("expected a comma");
      parts.push(this.#readPostfix());
      if (this.#next() !== ":") throw new Error("expected a colon");
      parts.push(this.#readPostfix());
    }
    this.#next();
    const values = parts.map(({ value }) => value);
    const entries = Array.from({ length: values.length / 2 }, (_, at): [Value, Value] => [
      values[2 * at] ?? null,
      values[2 * at + 1] ?? null,
    ]);
    return aggregate(mapValue(entries), parts, 30);
  }

  #listOutcome(items: readonly Outcome[]): Outcome {
    return aggregate(listValue(items.map(({ value }) => value)), items, 10);
  }

  #call(name: string, target: Outcome | undefined, args: readonly Outcome[]): Outcome {
    const all = target === undefined ? args : [target, ...args];
    const values = all.map(({ value }) => value);
    const builtIn = target === undefined ? callBuiltIn(name, values) : undefined;
    const before = all.reduce((sum, { cost }) => sum + cost, 0);
    const estimates = all.map(({ estimate }) => estimate);
    if (builtIn !== undefined) {
      const isConstant = all.every((part) => part.isConstant);
      const estimate = estimates.reduce(addRanges, fixedRange(1));
      const cost = isConstant ? 0 : before + 1;
      return { value: builtIn, cost, estimate, node: { type: typeOf(builtIn) }, isConstant };
    }
    const overload = this.#find(name, target !== undefined, values);
    const cost = callCost(name, overload.id, values) ?? defaultCost(overload.id, values);
    const nodes = args.map(({ node }) => node);
    const own =
      estimateCall(name, overload.id, target?.node, nodes, this.#size) ??
      this.#defaultEstimate(overload.id, [
        ...(target === undefined ? [] : [target.node]),
        ...nodes,
      ]);
    const value = overload.call(...values);
    return {
      value,
      cost: before + cost,
      estimate: estimates.reduce(addRanges, own.cost),
      node: {
        type: typeOf(value),
        ...(own.resultSize === undefined ? {} : { size: own.resultSize }),
      },
      isConstant: false,
    };
  }

  /** The language's own rules for `format` and `strings.quote`. */
  #defaultEstimate(
    id: string,
    [node]: readonly EstimateNode[],
  ): { readonly cost: Range; readonly resultSize?: Range } {
    if (node === undefined || (id !== "string_format" && id !== "strings_quote")) {
      return { cost: fixedRange(1) };
    }
    const size = node.size ?? this.#size(node) ?? unknownRange;
    const cost = scaleRange(size, 0.1);
    if (id === "string_format") return { cost };
    const most = addRanges(multiplyRanges(size, { min: 1, max: 2 }), fixedRange(2));
    return { cost, resultSize: most };
  }

  #find(name: string, isMember: boolean, values: readonly Value[]): LibraryOverload {
    const fitting = (this.#functions.get(name) ?? []).find(
      (overload) =>
        overload.isMember === isMember &&
        overload.args.length === values.length &&
        overload.args.every((type, at) => accepts(type, values[at] ?? null)),
    );
    if (fitting === undefined) throw new FunctionError(`no such overload: ${name}`);
    return fitting;
  }
}

function defaultCost(id: string, [text]: readonly Value[]): number {
  return id === "string_format" || id === "strings_quote" ? Math.ceil(sizeOf(text) * 0.1) : 1;
}

function aggregate(value: Value, parts: readonly Outcome[], base: number): Outcome {
  const isConstant = parts.every((part) => part.isConstant);
  return {
    value,
    cost: isConstant ? 0 : parts.reduce((sum, { cost }) => sum + cost, base),
    estimate: parts.map(({ estimate }) => estimate).reduce(addRanges, fixedRange(base)),
    node: { type: typeOf(value), size: fixedRange(sizeOf(value)) },
    isConstant,
  };
}

function literal(value: Value): Outcome {
  const size = typeof value === "string" || value instanceof Uint8Array ? sizeOf(value) : 1;
  return {
    value,
    cost: 0,
    estimate: fixedRange(0),
    node: { type: typeOf(value), size: fixedRange(size), literal: value },
    isConstant: true,
  };
}

function stringLiteral(token: string): Value {
  const isBytes = token.startsWith("b");
  const text = (isBytes ? token.slice(1) : token).slice(1, -1);
  const escapes: Record<string, string> = {
    n: "\n",
    t: "\t",
    a: "\u0007",
    v: "\v",
    f: "\f",
    r: "\r",
  };
  const plain = text.replace(
    /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gi,
    (_, hex?: string, four?: string, eight?: string, char = "") => {
      const code = hex ?? four ?? eight;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return char === "b" ? "\b" : (escapes[String(char)] ?? String(char));
    },
  );
  if (!isBytes) return plain;
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

function numberLiteral(token: string): Value {
  if (token.endsWith("u")) return new Uint(BigInt(token.slice(0, -1)));
  return /[.eE]/.test(token) ? Number(token) : BigInt(token);
}

function callBuiltIn(name: string, [value = null]: readonly Value[]): Value | undefined {
  if (name === "dyn") return value;
  if (name === "double")
    return value === "NaN" ? Number.NaN : value === "-Infinity" ? -Infinity : Infinity;
  if (name === "duration")
    return new Duration(BigInt(Number.parseInt(textOf(value), 10)) * 1_000_000_000n);
  if (name === "timestamp") return new Timestamp(BigInt(Date.parse(textOf(value))) * 1_000_000n);
  return undefined;
}

function accepts(type: LibraryType, value: Value): boolean {
  if (type.isParameter || type.name === "dyn") return true;
  if (type.name !== typeName(value)) return false;
  const [element] = type.parameters;
  const first = listItems(value)?.[0];
  return element === undefined || first === undefined || accepts(element, first);
}

function typeOf(value: Value): LibraryType {
  const first = listItems(value)?.[0] ?? mapEntries(value)?.[0]?.[0];
  const parameters = first === undefined ? [] : [typeOf(first)];
  return { name: typeName(value), isParameter: false, parameters };
}
