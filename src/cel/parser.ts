/**
 * Text -> expression tree, with the macros expanded where they stand.
 *
 * Bounds  the text has at most `textMax` code points, and nests at most `depthMax` deep: a longer one is refused before
 *         it is read further (upstream: 100,000 and 250).
 * Source: the language definition of cel-spec, "Syntax"; operator names as cel-go's common/operators.
 */
import { readTokens, SyntaxFailure, syntaxFailure, type Token } from "./lexer.ts";
import { expandMacro } from "./macros.ts";
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

/** Words that are no variables; they may be field names. */
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
  return new Parser(readTokens(text)).parse();
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;
  /** Levels below each expression: chains like `a.b.c` and `1 + 1 + 1` nest without brackets. */
  readonly #levels = new Map<Expr, number>();

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expr {
    const expr = this.#expr();
    const end = this.#peek();
    if (end.kind !== "end") throw unexpected(end);
    return expr;
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? (this.#tokens.at(-1) as Token); // the last one is the end
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

  #expect(operator: string): Token {
    const token = this.#takeIf(operator);
    if (token === undefined) throw unexpected(this.#peek(), `'${operator}'`);
    return token;
  }

  /** @throws SyntaxFailure where the tree gets too deep for what walks it. */
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

  #expr(): Expr {
    this.#depth += 1;
    if (this.#depth > depthMax) throw tooDeep(this.#peek().at);
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

  /** Terms of one operator become a balanced tree, as cel-go's: long chains stay shallow. */
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

  /** An even number of `!` or `-` is none at all. */
  #unary(): Expr {
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
      const index = this.#expr();
      this.#expect("]");
      expr = this.#call(isOptional ? "_[?_]" : "_[_]", bracket.at, [expr, index]);
    }
  }

  #selection(operand: Expr, at: number): Expr {
    const isOptional = this.#takeIf("?") !== undefined;
    const token = this.#take();
    const isName = token.kind === "name" || (token.kind === "operator" && token.text === "in");
    if (!isName && !isWord(token)) throw unexpected(token, "IDENTIFIER");
    if (isOptional) {
      const field: Expr = { kind: "literal", at: token.at, value: token.text };
      return this.#call("_?._", at, [operand, field]);
    }
    const open = this.#takeIf("(");
    if (open === undefined) {
      const select: Expr = { kind: "select", at, operand, field: token.text, isTest: false };
      return this.#nest(select, [operand]);
    }
    const args = this.#args(")");
    const made =
      expandMacro(token.text, open.at, operand, args) ?? method(token.text, open.at, operand, args);
    return this.#nest(made, [operand, ...args]);
  }

  #args(close: string): Expr[] {
    const args: Expr[] = [];
    while (this.#takeIf(close) === undefined) {
      if (args.length > 0) this.#expect(",");
      args.push(this.#expr());
    }
    return args;
  }

  #primary(): Expr {
    const token = this.#take();
    if (token.kind === "literal") return literal(token);
    if (token.kind === "name") return this.#named(token);
    if (token.kind !== "operator") throw unexpected(token);
    switch (token.text) {
      case "(": {
        const expr = this.#expr();
        this.#expect(")");
        return expr;
      }
      case "[":
        return this.#list(token.at);
      case "{":
        return this.#map(token.at);
      case ".": {
        const name = this.#take();
        if (name.kind !== "name") throw unexpected(name, "IDENTIFIER");
        return this.#named(name);
      }
      default:
        throw unexpected(token);
    }
  }

  /** A variable, a call, or the start of a message: `a.b.C{...}`. */
  #named(token: Token): Expr {
    const type = this.#structName(token);
    if (type !== undefined) return this.#struct(type.name, type.at);
    const { text, at } = token;
    const open = this.#takeIf("(");
    if (open !== undefined) {
      const args = this.#args(")");
      return this.#nest(
        expandMacro(text, open.at, undefined, args) ?? call(text, open.at, args),
        args,
      );
    }
    if (reserved.has(text)) {
      throw new SyntaxFailure([{ at, message: `reserved identifier: ${text}` }]);
    }
    return { kind: "ident", at, name: text };
  }

  /** Looks ahead for `{` after a dotted name; takes the tokens up to it. */
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
    while (this.#takeIf("]") === undefined) {
      if (items.length > 0) {
        this.#expect(",");
        if (this.#takeIf("]") !== undefined) break;
      }
      if (this.#takeIf("?") !== undefined) optional.add(items.length);
      items.push(this.#expr());
    }
    return this.#nest({ kind: "list", at, items, optional }, items);
  }

  #map(at: number): Expr {
    const entries: MapEntry[] = [];
    while (this.#takeIf("}") === undefined) {
      if (entries.length > 0) {
        this.#expect(",");
        if (this.#takeIf("}") !== undefined) break;
      }
      const isOptional = this.#takeIf("?") !== undefined;
      const key = this.#expr();
      const colon = this.#expect(":");
      entries.push({ at: colon.at, key, value: this.#expr(), isOptional });
    }
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.#nest({ kind: "map", at, entries }, parts);
  }

  #struct(type: string, at: number): Expr {
    const fields: StructField[] = [];
    while (this.#takeIf("}") === undefined) {
      if (fields.length > 0) {
        this.#expect(",");
        if (this.#takeIf("}") !== undefined) break;
      }
      const isOptional = this.#takeIf("?") !== undefined;
      const name = this.#take();
      if (name.kind !== "name" && !isWord(name)) throw unexpected(name, "IDENTIFIER");
      const colon = this.#expect(":");
      fields.push({ at: colon.at, name: name.text, value: this.#expr(), isOptional });
    }
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

/** `true`, `null` and the like may be field names only where the grammar has an identifier: nowhere. */
function isWord(token: Token): boolean {
  return token.kind === "operator" && token.text === "in";
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

function unexpected(token: Token, expected = ""): SyntaxFailure {
  const shown = token.kind === "end" ? "<EOF>" : token.text;
  if (expected !== "")
    return syntaxFailure(token.at, `mismatched input '${shown}' expecting ${expected}`);
  return syntaxFailure(token.at, `mismatched input '${shown}' expecting ${anyStart}`);
}

/** What may begin an expression, in the parser generator's words. */
const anyStart =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
