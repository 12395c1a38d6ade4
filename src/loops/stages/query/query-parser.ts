/**
 * jq's language, the part that selectors and delays are written in: paths, `[]`, `|`, `,`, `select`, comparisons,
 * `and`/`or`/`not`, `//`, arithmetic, `if`, lists and a closed table of functions.
 *
 * What could run for long is not there: no `def`, no recursion, no `reduce`, no variables, no regular expressions.
 * Bounds textCharsMax characters, nesting depthMax.
 */
import { TemplateError } from "../template/budget.ts";
import { queryFunctions } from "./query-functions.ts";
import type { Operator, Query } from "./query-syntax.ts";

const textCharsMax = 4_096;
const depthMax = 50;

/** @throws TemplateError */
export function parseQuery(text: string): Query {
  if (text.length > textCharsMax) {
    throw new TemplateError(`a query of ${text.length} characters; the most is ${textCharsMax}`);
  }
  return new Parser(text).query();
}

/** Loosest operators first. Each level is left-associative; jq's `//` is not, but that makes no difference here. */
const levels: readonly (readonly Operator[])[] = [
  ["|"],
  [","],
  ["//"],
  ["or"],
  ["and"],
  ["==", "!=", "<=", ">=", "<", ">"],
  ["+", "-"],
  ["*", "/", "%"],
];

const tokens =
  /\s*(?:("(?:[^"\\]|\\.)*")|([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|(\.[A-Za-z_][A-Za-z0-9_]*)|([A-Za-z_][A-Za-z0-9_]*)|(\/\/|==|!=|<=|>=|[|,.<>+\-*/%()[\]?;:]))/y;

interface Token {
  readonly kind: "string" | "number" | "field" | "word" | "mark";
  readonly text: string;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = read(text);
  }

  query(): Query {
    const query = this.#level(0);
    if (this.#at < this.#tokens.length) throw this.#unexpected();
    return query;
  }

  #level(level: number): Query {
    const operators = levels[level];
    if (operators === undefined) return this.#postfix();
    let left = this.#level(level + 1);
    for (;;) {
      const { text = "" } = this.#tokens[this.#at] ?? {};
      const operator = operators.find((one) => one === text);
      if (operator === undefined) return left;
      this.#at++;
      left = { kind: "binary", operator, left, right: this.#level(level + 1) };
    }
  }

  #postfix(): Query {
    if (++this.#depth > depthMax) throw new TemplateError(`nested deeper than ${depthMax}`);
    let query = this.#term();
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.kind === "field") {
        this.#at++;
        query = this.#field(query, { kind: "literal", value: token.text.slice(1) });
      } else if (this.#took("[")) query = this.#bracket(query);
      else if (token?.text === "." && this.#tokens[this.#at + 1]?.text === "[") this.#at++;
      else if (token?.text === "." && this.#tokens[this.#at + 1]?.kind === "string") {
        this.#at++;
        query = this.#field(query, this.#term());
      } else break;
    }
    this.#depth--;
    return query;
  }

  #field(of: Query, key: Query): Query {
    return { kind: "field", of, key, isOptional: this.#took("?") };
  }

  /** Parses the rest after `[`. */
  #bracket(of: Query): Query {
    if (this.#took("]")) return { kind: "each", of, isOptional: this.#took("?") };
    const key = this.#level(0);
    this.#expect("]");
    return this.#field(of, key);
  }

  #term(): Query {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.#unexpected();
    this.#at++;
    switch (token.kind) {
      case "string":
        return { kind: "literal", value: textOfQuoted(token.text) };
      case "number":
        return { kind: "literal", value: Number(token.text) };
      case "field":
        return this.#field({ kind: "identity" }, { kind: "literal", value: token.text.slice(1) });
      case "word":
        return this.#word(token.text);
      case "mark":
        return this.#mark(token.text);
      default:
        return token.kind satisfies never;
    }
  }

  #mark(text: string): Query {
    switch (text) {
      case ".": {
        const next = this.#tokens[this.#at];
        if (next?.kind !== "string") return { kind: "identity" };
        this.#at++;
        return this.#field(
          { kind: "identity" },
          { kind: "literal", value: textOfQuoted(next.text) },
        );
      }
      case "(": {
        const query = this.#level(0);
        this.#expect(")");
        return query;
      }
      case "[": {
        if (this.#took("]")) return { kind: "list", body: undefined };
        const body = this.#level(0);
        this.#expect("]");
        return { kind: "list", body };
      }
      case "-":
        return {
          kind: "binary",
          operator: "-",
          left: { kind: "literal", value: 0 },
          right: this.#postfix(),
        };
      default:
        this.#at--;
        throw this.#unexpected();
    }
  }

  #word(name: string): Query {
    if (name === "true" || name === "false") return { kind: "literal", value: name === "true" };
    if (name === "null") return { kind: "literal", value: null };
    if (name === "if") return this.#condition();
    const args: Query[] = [];
    if (this.#took("(")) {
      do args.push(this.#level(0));
      while (this.#took(";"));
      this.#expect(")");
    }
    if (queryFunctions.get(`${name}/${args.length}`) === undefined) {
      throw new TemplateError(`function ${name}/${args.length} is not among those of stages`);
    }
    return { kind: "call", name: `${name}/${args.length}`, args };
  }

  #condition(): Query {
    const test = this.#level(0);
    this.#expect("then");
    const yes = this.#level(0);
    if (this.#took("elif")) return { kind: "if", test, yes, no: this.#condition() };
    const no: Query = this.#took("else") ? this.#level(0) : { kind: "identity" };
    this.#expect("end");
    return { kind: "if", test, yes, no };
  }

  #took(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.text !== text || token.kind === "string") return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#took(text)) throw this.#unexpected();
  }

  #unexpected(): TemplateError {
    const token = this.#tokens[this.#at];
    return new TemplateError(
      token === undefined ? "the query ends too early" : `unexpected ${token.text} in the query`,
    );
  }
}

const kinds = ["string", "number", "field", "word", "mark"] as const;

function read(text: string): Token[] {
  const list: Token[] = [];
  const end = text.trimEnd().length;
  tokens.lastIndex = 0;
  while (tokens.lastIndex < end) {
    const at = tokens.lastIndex;
    const found = tokens.exec(text);
    if (found === null) {
      throw new TemplateError(`unexpected ${JSON.stringify(text.slice(at, at + 10))} in the query`);
    }
    const place = found.findIndex((part, index) => index > 0 && part !== undefined);
    list.push({ kind: kinds[place - 1] ?? "mark", text: found[place] ?? "" });
  }
  return list;
}

function textOfQuoted(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    throw new TemplateError(`a string that is none: ${quoted.slice(0, 50)}`);
  }
}
