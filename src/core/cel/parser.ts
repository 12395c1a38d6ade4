/**
 * Text -> expression tree, with the macros expanded where they stand.
 *
 * Bounds  the text has at most `textMax` code points, and nests at most `depthMax` deep: a longer one is refused before
 *         it is read further (upstream: 100,000 and 250).
 * Source: the language definition of cel-spec, "Syntax"; operator names as cel-go's common/operators.
 */
import { addFault, failureOf, readTokens, SyntaxFailure, type Token } from "./lexer.ts";
import { expandMacro } from "./macros.ts";
import type { SourceError } from "./source-error.ts";
import type { Expr, MapEntry, StructField } from "./syntax.ts";

const textMax = 100_000;
const depthMax = 250;

const relations = ["<", "<=", ">", ">=", "==", "!=", "in"];
const binary: ReadonlyMap<string, string> = new Map([
  ["<", "_<_"],
  ["<=", "_<=_"],
  [">", "_>_"],
  [">=", "_>=_"],
  ["==", "_==_"],
  ["!=", "_!=_"],
  ["in", "@in"],
  ["+", "_+_"],
  ["-", "_-_"],
  ["*", "_*_"],
  ["/", "_/_"],
  ["%", "_%_"],
  ["&&", "_&&_"],
  ["||", "_||_"],
]);

/** Reserved words, which cannot be variables but may be field names. */
const reserved: ReadonlySet<string> = new Set(
  `as break const continue else false for function if import in let loop package namespace null return true
   var void while`.split(/\s+/),
);

/** @throws SyntaxFailure. */
export function parse(text: string): Expr {
  if (text.length > textMax && Array.from(text).length > textMax) {
    const size = Array.from(text).length;
    const message = `expression code point size exceeds limit: size: ${size}, limit ${textMax}`;
    throw new SyntaxFailure([{ at: 0, message }]);
  }
  const faults: SourceError[] = [];
  return new Parser(readTokens(text, faults), faults).parse();
}

class Parser {
  readonly #tokens: readonly Token[];
  /** Errors found so far; parsing continues after minor ones. */
  readonly #faults: SourceError[];
  #next = 0;
  /** Number of open brackets. */
  #open = 0;
  #depth = 0;
  /** Levels below each expression: chains like `a.b.c` and `1 + 1 + 1` nest without brackets. */
  readonly #levels = new Map<Expr, number>();

  constructor(tokens: readonly Token[], faults: SourceError[]) {
    this.#tokens = tokens;
    this.#faults = faults;
  }

  parse(): Expr {
    const expr = this.#expr();
    const end = this.#peek();
    if (end.kind !== "end") {
      const how = this.#ahead(1).kind === "end" ? "extraneous" : "mismatched";
      this.#fail(end.at, `${how} input '${end.text}' expecting <EOF>`);
    }
    if (this.#faults.length > 0) throw failureOf(this.#faults);
    return expr;
  }

  /** Records an error; the caller continues as if the text were correct. */
  #fail(at: number, message: string): void {
    addFault(this.#faults, { at, message: `Syntax error: ${message}` });
  }

  /** The errors found so far and this one. */
  #failure(token: Token, message: string): SyntaxFailure {
    this.#fail(token.at, message);
    return failureOf(this.#faults);
  }

  #unexpected(token: Token, expected: string): SyntaxFailure {
    return this.#failure(token, `mismatched input '${token.text}' expecting ${expected}`);
  }

  #ahead(count: number): Token {
    return this.#tokens[this.#next + count] ?? (this.#tokens.at(-1) as Token); // the last one is the end
  }

  #peek(): Token {
    return this.#ahead(0);
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  #takeIf(...operators: readonly string[]): Token | undefined {
    const token = this.#peek();
    if (token.kind !== "operator" || !operators.includes(token.text)) return undefined;
    return this.#take();
  }

  /**
   * Goes on after one token too many, and where the operator is missing before what fits (`fits`).
   * Otherwise nothing more of the text is read.
   */
  #expect(operator: string, fits: (token: Token) => boolean = never): Token {
    const taken = this.#takeIf(operator);
    if (taken !== undefined) return taken;
    const token = this.#peek();
    const next = this.#ahead(1);
    if (token.kind !== "end" && next.kind === "operator" && next.text === operator) {
      this.#fail(token.at, `extraneous input '${token.text}' expecting '${operator}'`);
      this.#next += 2;
      return next;
    }
    if (!fits(token)) throw this.#unexpected(token, `'${operator}'`);
    this.#fail(token.at, `missing '${operator}' at '${token.text}'`);
    return token;
  }

  /** At the end of the text, only the outermost missing bracket is reported. */
  #close(operator: string): void {
    this.#expect(operator, ({ kind }) => kind === "end" && this.#open === 1);
    this.#open -= 1;
  }

  /** A single comma is allowed. */
  #endsEmpty(close: string): boolean {
    if (this.#peek().text === "," && this.#ahead(1).text === close) this.#next += 1;
    return this.#takeIf(close) !== undefined;
  }

  /** Called after an item of a list that may end with a comma. @returns whether the list has ended. */
  #endsAfterItem(close: string): boolean {
    if (this.#takeIf(close) !== undefined) return true;
    if (this.#takeIf(",") === undefined) throw this.#unexpected(this.#peek(), `{'${close}', ','}`);
    if (this.#takeIf(close) !== undefined) return true;
    if (this.#peek().text !== ",") return false;
    this.#expect(close);
    return true;
  }

  /** @throws SyntaxFailure when the tree becomes too deep for recursive functions. */
  #nest(expr: Expr, parts: readonly Expr[]): Expr {
    let below = 0;
    for (const part of parts) below = Math.max(below, this.#levels.get(part) ?? 0);
    if (below >= depthMax) throw tooDeep(expr.at);
    this.#levels.set(expr, below + 1);
    return expr;
  }

  #call(name: string, at: number, args: readonly Expr[]): Expr {
    return this.#nest(call(name, at, args), args);
  }

  #expr(expected = anyStart): Expr {
    this.#depth += 1;
    if (this.#depth > depthMax) throw tooDeep(this.#peek().at);
    if (this.#peek().kind === "end") throw this.#unexpected(this.#peek(), expected);
    this.#skipStray(expected);
    const expr = this.#conditional();
    this.#depth -= 1;
    return expr;
  }

  #conditional(): Expr {
    const condition = this.#logical("||", () => this.#logical("&&", () => this.#relation()));
    const question = this.#takeIf("?");
    if (question === undefined) return condition;
    const then = this.#logical("||", () => this.#logical("&&", () => this.#relation()));
    this.#expect(":");
    const otherwise = this.#expr();
    return this.#call("_?_:_", question.at, [condition, then, otherwise]);
  }

  /** As in cel-go, terms of one operator become a balanced tree, so that long chains stay shallow. */
  #logical(operator: "&&" | "||", operand: () => Expr): Expr {
    const terms = [operand()];
    const places: number[] = [];
    for (let token = this.#takeIf(operator); token !== undefined; token = this.#takeIf(operator)) {
      places.push(token.at);
      terms.push(operand());
    }
    const tree = balance(operatorName(operator), terms, places);
    return places.length === 0 ? tree : this.#nest(tree, terms);
  }

  #relation(): Expr {
    let left = this.#sum();
    for (;;) {
      const token = this.#takeIf(...relations);
      if (token === undefined) return left;
      left = this.#call(operatorName(token.text), token.at, [left, this.#sum()]);
    }
  }

  #sum(): Expr {
    let left = this.#product();
    for (;;) {
      const token = this.#takeIf("+", "-");
      if (token === undefined) return left;
      left = this.#call(operatorName(token.text), token.at, [left, this.#product()]);
    }
  }

  #product(): Expr {
    let left = this.#unary();
    for (;;) {
      const token = this.#takeIf("*", "/", "%");
      if (token === undefined) return left;
      left = this.#call(operatorName(token.text), token.at, [left, this.#unary()]);
    }
  }

  /** An even number of `!` or `-` has no effect. */
  #unary(): Expr {
    this.#skipStray(anyStart);
    const sign = this.#takeIf("!", "-");
    if (sign === undefined) return this.#member();
    let isOdd = true;
    while (this.#takeIf(sign.text) !== undefined) isOdd = !isOdd;
    const token = this.#peek();
    if (sign.text === "-" && isOdd && token.kind === "literal") {
      const negated = negate(token);
      if (negated !== undefined) {
        this.#take();
        return this.#trailers({ kind: "literal", at: sign.at, value: negated });
      }
    }
    const operand = this.#member();
    if (!isOdd) return operand;
    return this.#call(sign.text === "!" ? "!_" : "-_", sign.at, [operand]);
  }

  #member(): Expr {
    return this.#trailers(this.#primary());
  }

  #trailers(first: Expr): Expr {
    let expr = first;
    for (;;) {
      const dot = this.#takeIf(".");
      if (dot !== undefined) {
        expr = this.#selection(expr, dot.at);
        continue;
      }
      const bracket = this.#takeIf("[");
      if (bracket === undefined) return expr;
      const isOptional = this.#takeIf("?") !== undefined;
      this.#open += 1;
      const index = this.#expr(isOptional ? anyStart : indexStart);
      this.#close("]");
      expr = this.#call(isOptional ? "_[?_]" : "_[_]", bracket.at, [expr, index]);
    }
  }

  #selection(operand: Expr, at: number): Expr {
    const isOptional = this.#takeIf("?") !== undefined;
    const token = this.#take();
    if (token.kind !== "name") throw this.#noName(token, isOptional);
    if (isOptional) {
      const field: Expr = { kind: "literal", at: token.at, value: token.text };
      return this.#call("_?._", at, [operand, field]);
    }
    const open = this.#takeIf("(");
    if (open === undefined) {
      const select: Expr = { kind: "select", at, operand, field: token.text, isTest: false };
      return this.#nest(select, [operand]);
    }
    const args = this.#args();
    const made =
      expandMacro(token.text, open.at, operand, args) ?? method(token.text, open.at, operand, args);
    return this.#nest(made, [operand, ...args]);
  }

  #noName(token: Token, isOptional: boolean): SyntaxFailure {
    if (isOptional) {
      this.#fail(
        token.at,
        `mismatched input '${token.text}' expecting {IDENTIFIER, ESC_IDENTIFIER}`,
      );
      addFault(this.#faults, { at: token.at, message: "unsupported ident kind" });
      return failureOf(this.#faults);
    }
    const input = token.kind === "end" ? "." : `.${token.text}`;
    return this.#failure(token, `no viable alternative at input '${input}'`);
  }

  /** Parses arguments after the opening bracket. */
  #args(): Expr[] {
    this.#open += 1;
    const args: Expr[] = [];
    if (this.#takeIf(")") === undefined) {
      args.push(this.#expr(argumentStart));
      while (this.#takeIf(",") !== undefined) args.push(this.#expr());
      this.#close(")");
    } else this.#open -= 1;
    return args;
  }

  /** Skips one superfluous token. */
  #skipStray(expected: string): void {
    const token = this.#peek();
    if (startsExpression(token) || token.kind === "end") return;
    if (!startsExpression(this.#ahead(1))) return;
    this.#fail(token.at, `extraneous input '${token.text}' expecting ${expected}`);
    this.#next += 1;
  }

  #primary(): Expr {
    const token = this.#take();
    if (token.kind === "literal") return literal(token);
    if (token.kind === "name") return this.#named(token);
    if (token.kind !== "operator") throw this.#unexpected(token, anyStart);
    switch (token.text) {
      case "(": {
        this.#open += 1;
        const expr = this.#expr();
        this.#close(")");
        return expr;
      }
      case "[":
        return this.#list(token.at);
      case "{":
        return this.#map(token.at);
      case ".": {
        const name = this.#take();
        if (name.kind !== "name") throw this.#noName(name, false);
        return this.#named(name);
      }
      default:
        throw this.#unexpected(token, anyStart);
    }
  }

  /** A variable, a call, or the start of a message: `a.b.C{...}`. */
  #named(token: Token): Expr {
    const type = this.#structName(token);
    if (type !== undefined) return this.#struct(type.name, type.at);
    const { text, at } = token;
    if (reserved.has(text)) {
      addFault(this.#faults, { at, message: `reserved identifier: ${text}` });
    }
    const open = this.#takeIf("(");
    if (open !== undefined) {
      const args = this.#args();
      return this.#nest(
        expandMacro(text, open.at, undefined, args) ?? call(text, open.at, args),
        args,
      );
    }
    return { kind: "ident", at, name: text };
  }

  /** Looks ahead for `{` after a dotted name, and consumes the tokens before it. */
  #structName(first: Token): { readonly name: string; readonly at: number } | undefined {
    let name = first.text;
    let ahead = this.#next;
    const at = (offset: number): Token | undefined => this.#tokens[offset];
    while (at(ahead)?.text === "." && at(ahead + 1)?.kind === "name") {
      name += `.${at(ahead + 1)?.text ?? ""}`;
      ahead += 2;
    }
    const open = at(ahead);
    if (open?.kind !== "operator" || open.text !== "{") return undefined;
    this.#next = ahead + 1;
    return { name, at: open.at };
  }

  #list(at: number): Expr {
    const items: Expr[] = [];
    const optional = new Set<number>();
    this.#open += 1;
    while (items.length > 0 ? !this.#endsAfterItem("]") : !this.#endsEmpty("]")) {
      if (this.#takeIf("?") !== undefined) optional.add(items.length);
      items.push(this.#expr());
    }
    this.#open -= 1;
    return this.#nest({ kind: "list", at, items, optional }, items);
  }

  #map(at: number): Expr {
    const entries: MapEntry[] = [];
    this.#open += 1;
    while (entries.length > 0 ? !this.#endsAfterItem("}") : !this.#endsEmpty("}")) {
      const isOptional = this.#takeIf("?") !== undefined;
      const key = this.#expr();
      const colon = this.#expect(":", startsExpression);
      entries.push({ at: colon.at, key, value: this.#expr(), isOptional });
    }
    this.#open -= 1;
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.#nest({ kind: "map", at, entries }, parts);
  }

  #struct(type: string, at: number): Expr {
    const fields: StructField[] = [];
    this.#open += 1;
    while (fields.length > 0 ? !this.#endsAfterItem("}") : !this.#endsEmpty("}")) {
      const isOptional = this.#takeIf("?") !== undefined;
      const name = this.#take();
      if (name.kind !== "name") throw this.#unexpected(name, fieldStart);
      const colon = this.#expect(":", startsExpression);
      fields.push({ at: colon.at, name: name.text, value: this.#expr(), isOptional });
    }
    this.#open -= 1;
    const parts = fields.map(({ value }) => value);
    return this.#nest({ kind: "struct", at, type, fields }, parts);
  }
}

function tooDeep(at: number): SyntaxFailure {
  return new SyntaxFailure([{ at, message: `expression recursion limit exceeded: ${depthMax}` }]);
}

function literal({ at, value }: Extract<Token, { kind: "literal" }>): Expr {
  if (value === 2n ** 63n) {
    throw new SyntaxFailure([{ at, message: "invalid int literal" }]);
  }
  return { kind: "literal", at, value };
}

function negate({ value }: Extract<Token, { kind: "literal" }>): bigint | number | undefined {
  if (typeof value === "bigint") return -value;
  return typeof value === "number" ? -value : undefined;
}

function operatorName(text: string): string {
  return binary.get(text) ?? text;
}

function call(name: string, at: number, args: readonly Expr[]): Expr {
  return { kind: "call", at, name, target: undefined, args };
}

function method(name: string, at: number, target: Expr, args: readonly Expr[]): Expr {
  return { kind: "call", at, name, target, args };
}

function balance(name: string, terms: readonly Expr[], places: readonly number[]): Expr {
  const build = (low: number, high: number): Expr => {
    const middle = (low + high + 1) >> 1;
    const left = middle === low ? terms[middle] : build(low, middle - 1);
    const right = middle === high ? terms[middle + 1] : build(middle + 1, high);
    return call(name, places[middle] ?? 0, [left as Expr, right as Expr]); // in range: one term more than places
  };
  return places.length === 0 ? (terms[0] as Expr) : build(0, places.length - 1);
}

function never(): boolean {
  return false;
}

function startsExpression({ kind, text }: Token): boolean {
  return kind === "literal" || kind === "name" || (kind === "operator" && "[{(.-!".includes(text));
}

const literals = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
/** The tokens that may begin an expression, an argument or an index, in the form of the parser generator's errors. */
const anyStart = `{'[', '{', '(', '.', '-', '!', ${literals}}`;
const argumentStart = `{'[', '{', '(', ')', '.', '-', '!', ${literals}}`;
const indexStart = `{'[', '{', '(', '.', '-', '!', '?', ${literals}}`;
const fieldStart = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
