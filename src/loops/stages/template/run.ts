/**
 * Runs a parsed template over a value.
 *
 * Holds  every node, every element of a range and every call costs a step; every character written or made by a
 *        function costs one of `charsMax`. A run ends with its text or a TemplateError.
 * After  Go's text/template exec.go. Differs: what is absent has absent fields everywhere, numbers are numbers.
 */
import { isRecord } from "#base/is-record.ts";
import { Budget, type BudgetLimits, TemplateError } from "./budget.ts";
import type { Command, Operand, Pipe, Template, TemplateNode } from "./syntax.ts";
import { fieldOf, isTrue, sizeOf, textOf } from "./values.ts";

/** `args` are evaluated values. The caller charges the result to `budget`; the function itself charges what it reads. */
export type TemplateFunction = (args: readonly unknown[], budget: Budget) => unknown;
export type TemplateFunctions = ReadonlyMap<string, TemplateFunction>;

const callDepthMax = 50;

/** @throws TemplateError */
export function runTemplate(
  template: Template,
  data: unknown,
  functions: TemplateFunctions,
  limits: BudgetLimits,
): string {
  const run = new Run(template, functions, new Budget(limits));
  run.template(template.body, data);
  return run.text();
}

type Flow = "on" | "break" | "continue";

class Run {
  readonly #template: Template;
  readonly #functions: TemplateFunctions;
  readonly #budget: Budget;
  readonly #out: string[] = [];
  #scope: { readonly name: string; value: unknown }[] = [];
  #depth = 0;

  constructor(template: Template, functions: TemplateFunctions, budget: Budget) {
    this.#template = template;
    this.#functions = functions;
    this.#budget = budget;
  }

  text(): string {
    return this.#out.join("");
  }

  template(nodes: readonly TemplateNode[], dot: unknown): void {
    if (++this.#depth > callDepthMax) {
      throw new TemplateError(`templates call each other deeper than ${callDepthMax}`);
    }
    const outer = this.#scope;
    this.#scope = [{ name: "$", value: dot }];
    this.#list(nodes, dot);
    this.#scope = outer;
    this.#depth--;
  }

  #list(nodes: readonly TemplateNode[], dot: unknown): Flow {
    for (const node of nodes) {
      const flow = this.#node(node, dot);
      if (flow !== "on") return flow;
    }
    return "on";
  }

  #node(node: TemplateNode, dot: unknown): Flow {
    this.#budget.step();
    switch (node.kind) {
      case "text":
        this.#write(node.text);
        return "on";
      case "action": {
        const value = this.#pipe(node.pipe, dot);
        if (node.pipe.variables.length === 0) this.#write(textOf(value));
        return "on";
      }
      case "template":
        this.#call(node, dot);
        return "on";
      case "break":
      case "continue":
        return node.kind;
      case "if":
      case "with":
      case "range":
        return this.#scoped(() => this.#control(node, dot));
      default:
        return node satisfies never;
    }
  }

  #write(text: string): void {
    this.#budget.chars(text.length);
    this.#out.push(text);
  }

  #call(node: { readonly name: string; readonly pipe: Pipe | undefined }, dot: unknown): void {
    const nodes = this.#template.defined.get(node.name);
    if (nodes === undefined) throw new TemplateError(`template "${node.name}" not defined`);
    this.template(nodes, node.pipe === undefined ? undefined : this.#pipe(node.pipe, dot));
  }

  #scoped(f: () => Flow): Flow {
    const known = this.#scope.length;
    const flow = f();
    this.#scope.length = known;
    return flow;
  }

  #control(node: TemplateNode & { readonly kind: "if" | "with" | "range" }, dot: unknown): Flow {
    if (node.kind === "range") return this.#range(node, dot);
    const value = this.#pipe(node.pipe, dot);
    if (!isTrue(value)) return this.#list(node.otherwise, dot);
    return this.#list(node.body, node.kind === "with" ? value : dot);
  }

  #range(node: TemplateNode & { readonly kind: "if" | "with" | "range" }, dot: unknown): Flow {
    const { variables, isAssignment } = node.pipe;
    const value = this.#commands(node.pipe, dot);
    const entries = entriesOf(value);
    if (entries.length === 0) return this.#list(node.otherwise, dot);
    for (const [key, element] of entries) {
      const flow = this.#scoped(() => {
        const [first = "", second] = variables;
        if (second !== undefined) this.#declare([first, second], [key, element], isAssignment);
        else if (variables.length === 1) this.#declare([first], [element], isAssignment);
        this.#budget.step();
        return this.#list(node.body, element);
      });
      if (flow === "break") break;
    }
    return "on";
  }

  #declare(names: readonly string[], values: readonly unknown[], isAssignment: boolean): void {
    names.forEach((name, at) => {
      if (isAssignment) this.#assign(name, values[at]);
      else this.#scope.push({ name, value: values[at] });
    });
  }

  #assign(name: string, value: unknown): void {
    const known = this.#scope.findLast((one) => one.name === name);
    if (known === undefined) throw new TemplateError(`undefined variable "${name}"`);
    known.value = value;
  }

  #pipe(pipe: Pipe, dot: unknown): unknown {
    const value = this.#commands(pipe, dot);
    this.#declare(pipe.variables, [value], pipe.isAssignment);
    return value;
  }

  #commands({ commands }: Pipe, dot: unknown): unknown {
    let last: readonly unknown[] = [];
    for (const command of commands) last = [this.#command(command, dot, last)];
    return last[0];
  }

  /** `last`: value of the previous command in the pipeline, if there is one. It becomes the last argument. */
  #command(command: Command, dot: unknown, last: readonly unknown[]): unknown {
    this.#budget.step();
    const [first, ...rest] = command;
    if (first === undefined) return undefined;
    if (first.kind === "function") return this.#function(first.name, rest, dot, last);
    if (rest.length > 0 || last.length > 0) {
      throw new TemplateError(`can't give argument to non-function ${first.kind}`);
    }
    return this.#operand(first, dot);
  }

  #function(
    name: string,
    operands: readonly Operand[],
    dot: unknown,
    last: readonly unknown[],
  ): unknown {
    if (name === "and" || name === "or") return this.#shortCut(name, operands, dot, last);
    const call = this.#functions.get(name);
    if (call === undefined) throw new TemplateError(`function "${name}" not defined`);
    const args = [...operands.map((operand) => this.#operand(operand, dot)), ...last];
    const value = this.#called(name, call, args);
    if (typeof value === "string") this.#budget.chars(value.length);
    // Charged with all nested values, because a list that contains another one many times looks small itself.
    else if (typeof value === "object") this.#budget.chars(sizeOf(value));
    return value;
  }

  #called(name: string, call: TemplateFunction, args: readonly unknown[]): unknown {
    try {
      return call(args, this.#budget);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new TemplateError(`error calling ${name}: ${error.message}`);
    }
  }

  /** Returns the first argument that decides the result; later arguments are not evaluated. */
  #shortCut(
    name: "and" | "or",
    operands: readonly Operand[],
    dot: unknown,
    last: readonly unknown[],
  ): unknown {
    let value: unknown;
    for (const operand of operands) {
      value = this.#operand(operand, dot);
      if (isTrue(value) === (name === "or")) return value;
    }
    if (operands.length + last.length === 0) {
      throw new TemplateError(`wrong number of args for ${name}: want at least 1 got 0`);
    }
    return last.length > 0 ? last[0] : value;
  }

  #operand(operand: Operand, dot: unknown): unknown {
    this.#budget.step();
    switch (operand.kind) {
      case "literal":
        return operand.value;
      case "dot":
        return atPath(dot, operand.path);
      case "variable":
        return atPath(this.#variable(operand.name), operand.path);
      case "pipe":
        return atPath(this.#pipe(operand.pipe, dot), operand.path);
      case "function":
        return this.#function(operand.name, [], dot, []);
      default:
        return operand satisfies never;
    }
  }

  #variable(name: string): unknown {
    const known = this.#scope.findLast((one) => one.name === name);
    if (known === undefined) throw new TemplateError(`undefined variable "${name}"`);
    return known.value;
  }
}

function atPath(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) at = fieldOf(at, name);
  return at;
}

/** Iterates a map in the order of its keys, as Go does. The caller charges the elements one by one. */
function entriesOf(value: unknown): Iterable<readonly [unknown, unknown]> & { length: number } {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((element: unknown, at) => [at, element] as const);
  if (typeof value === "number" && Number.isInteger(value)) return counting(value);
  if (!isRecord(value)) throw new TemplateError(`range can't iterate over ${textOf(value)}`);
  return Object.keys(value)
    .toSorted()
    .map((key) => [key, value[key]] as const);
}

/** Generates numbers lazily, so that `range 1000000000` ends when the step budget is spent. */
function counting(to: number): Iterable<readonly [number, number]> & { length: number } {
  return {
    length: Math.max(0, to),
    *[Symbol.iterator]() {
      for (let at = 0; at < to; at++) yield [at, at];
    },
  };
}
