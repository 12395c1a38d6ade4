/**
 * Parser of the Kubernetes dialect of JSONPath, which is used by kubectl's `-o jsonpath`, printer columns of custom
 * resources and the relay's views.
 *
 *   text{.metadata.name}{"\t"}{range .items[*]}{.a['b'][0:3:2]}{end}{..x[?(@.type=="Ready")].y}
 *
 * After  client-go util/jsonpath, including its error texts. Its oddities are kept where a path may
 *        depend on them: `['a.b']` is two fields unless the dot is escaped, and spaces end a field.
 */
import { ownEntry } from "#base/own.ts";

/** The text is not a valid path; the message is upstream's. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JsonPathError";
  }
}

/** One of start, end and step of `[start:end:step]`. */
export interface SliceBound {
  /** Undefined: not given. */
  readonly value: number | undefined;
  /** Whether it is the implied end of a plain index, `start + 1`. */
  readonly isDerived: boolean;
}

export type PathNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "slice"; readonly bounds: readonly [SliceBound, SliceBound, SliceBound] }
  | {
      readonly kind: "filter";
      readonly left: readonly PathNode[];
      /** `exists`, or a sequence of the characters `!<>=`. */
      readonly operator: string;
      readonly right: readonly PathNode[];
    }
  | { readonly kind: "union"; readonly paths: readonly (readonly PathNode[])[] }
  | { readonly kind: "literal"; readonly value: boolean | number }
  /** Written with a decimal point; Go does not compare it with integers. */
  | { readonly kind: "float"; readonly value: number }
  /** `range` and `end`; other identifiers fail during evaluation. */
  | { readonly kind: "identifier"; readonly name: string }
  | { readonly kind: "wildcard" }
  | { readonly kind: "recursive" };

/** Text outside of braces is an action with one text node. */
export type Action = readonly PathNode[];

export function parseActions(text: string): readonly Action[] {
  return new Parser(text).parse();
}

const dictKey = /^'([^']*)'$/;
const slice = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/;
const comparison = /^([^!<>=]+)([!<>=]+)(.+?)$/s;
const unions = ",";

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): readonly Action[] {
    const actions: Action[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf("{", this.#at);
      const end = open < 0 ? this.#text.length : open;
      if (end > this.#at) actions.push([{ kind: "text", text: this.#text.slice(this.#at, end) }]);
      this.#at = end + 1;
      if (open >= 0) actions.push(this.#action());
    }
    return actions;
  }

  #action(): Action {
    const nodes: PathNode[] = [];
    for (;;) {
      const next = this.#text[this.#at];
      if (next === "}") {
        this.#at++;
        return nodes;
      }
      if (this.#text.startsWith("[?(", this.#at)) nodes.push(this.#filter());
      else if (this.#text.startsWith("..", this.#at)) this.#recursive(nodes);
      else this.#step(nodes, next);
    }
  }

  #step(nodes: PathNode[], next: string | undefined): void {
    if (next === undefined || isEndOfLine(next)) throw new JsonPathError("unclosed action");
    if (next === " " || next === "@" || next === "$") this.#at++;
    else if (next === "[") nodes.push(...this.#array());
    else if (next === '"' || next === "'") nodes.push(this.#quoted(next));
    else if (next === ".") {
      this.#at++;
      nodes.push(this.#field());
    } else if (/[+\-\p{Nd}]/u.test(next)) nodes.push(this.#number());
    else if (isAlphaNumeric(next)) nodes.push(this.#identifier());
    else throw new JsonPathError(`unrecognized character in action: ${goRune(next)}`);
  }

  #recursive(nodes: PathNode[]): void {
    if (nodes.at(-1)?.kind === "recursive") {
      throw new JsonPathError("invalid multiple recursive descent");
    }
    this.#at += 2;
    nodes.push({ kind: "recursive" });
    const next = this.#text[this.#at];
    if (next !== undefined && isAlphaNumeric(next)) nodes.push(this.#field());
  }

  #field(): PathNode {
    const start = this.#at;
    while (this.#at < this.#text.length && !isTerminator(this.#text[this.#at] ?? "")) {
      this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    }
    this.#at = Math.min(this.#at, this.#text.length);
    const name = this.#text.slice(start, this.#at);
    return name === "*" ? { kind: "wildcard" } : { kind: "field", name: name.replaceAll("\\", "") };
  }

  #identifier(): PathNode {
    const start = this.#at;
    while (this.#at < this.#text.length && !isTerminator(this.#text[this.#at] ?? "")) this.#at++;
    const name = this.#text.slice(start, this.#at);
    if (name === "true" || name === "false") return { kind: "literal", value: name === "true" };
    return { kind: "identifier", name };
  }

  #number(): PathNode {
    const text = /^[+-]?[.\p{Nd}]*/u.exec(this.#text.slice(this.#at))?.[0] ?? "";
    this.#at += text.length;
    if (/^[+-]?\d+$/.test(text)) return { kind: "literal", value: Number(text) };
    if (/^[+-]?(\d+\.\d*|\.\d+)$/.test(text)) return { kind: "float", value: Number(text) };
    throw new JsonPathError(`cannot parse number ${text}`);
  }

  #array(): readonly PathNode[] {
    const end = this.#endOf(/[\n\]]/g, "]", "unterminated array");
    const inside = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return arrayNodes(inside === "*" ? ":" : inside);
  }

  #endOf(stops: RegExp, wanted: string, problem: string): number {
    stops.lastIndex = this.#at;
    const found = stops.exec(this.#text);
    if (found?.[0] !== wanted) throw new JsonPathError(problem);
    return found.index;
  }

  #quoted(quote: string): PathNode {
    for (let end = this.#at + 1; end < this.#text.length; end++) {
      if (this.#text[end] === "\n") break;
      if (this.#text[end] !== quote || this.#text[end - 1] === "\\") continue;
      const text = unquote(this.#text.slice(this.#at, end + 1));
      this.#at = end + 1;
      return { kind: "text", text };
    }
    throw new JsonPathError("unterminated quoted string");
  }

  #filter(): PathNode {
    this.#at += "[?(".length;
    const end = this.#filterEnd();
    if (this.#text[end + 1] !== "]") throw new JsonPathError("unclosed array expect ]");
    const text = this.#text.slice(this.#at, end);
    this.#at = end + 2;
    const parts = comparison.exec(text);
    if (parts === null) return { kind: "filter", left: path(text), operator: "exists", right: [] };
    const [, left = "", operator = "", right = ""] = parts;
    return { kind: "filter", left: path(left), operator, right: path(right) };
  }

  /** A filter holds at most one quoted string, which may hold brackets. */
  #filterEnd(): number {
    let quote = "";
    let closed = true;
    for (let end = this.#at; end < this.#text.length; end++) {
      const next = this.#text[end] ?? "";
      if (next === "\n") break;
      if (next === ")" && closed) return end;
      if (next !== '"' && next !== "'") continue;
      if (quote === "") [quote, closed] = [next, false];
      else if (next === quote && this.#text[end - 1] !== "\\") closed = true;
    }
    throw new JsonPathError("unterminated filter");
  }
}

function arrayNodes(inside: string): readonly PathNode[] {
  const parts = inside.split(unions);
  if (parts.length > 1) {
    return [{ kind: "union", paths: parts.map((part) => path(`[${trimSpaces(part)}]`)) }];
  }
  const key = dictKey.exec(inside)?.[1];
  if (key !== undefined) return path(`.${key}`);
  const bounds = slice.exec(inside);
  if (bounds === null) throw new JsonPathError(`invalid array index ${inside}`);
  const [, start = "", end, step] = bounds;
  return [{ kind: "slice", bounds: [bound(start), endBound(start, end), bound(step?.slice(1))] }];
}

function bound(text: string | undefined): SliceBound {
  if (text === undefined || text === "") return { value: undefined, isDerived: false };
  if (text === "-") throw new JsonPathError(`array index ${text} is not a number`);
  return { value: Number(text), isDerived: false };
}

function endBound(start: string, end: string | undefined): SliceBound {
  if (end !== undefined) return bound(end.slice(1));
  return { value: (bound(start).value ?? 0) + 1, isDerived: true };
}

function path(text: string): readonly PathNode[] {
  return parseActions(`{${text}}`)[0] ?? [];
}

function trimSpaces(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && text[from] === " ") from++;
  while (to > from && text[to - 1] === " ") to--;
  return text.slice(from, to);
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/** Go's escapes inside either quote. */
function unquote(quotedText: string): string {
  const quote = quotedText[0] ?? "";
  return quotedText
    .slice(1, -1)
    .replace(
      /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([0-7]{3})|(.?))/gis,
      (_whole, hex, short, long, octal, char: string | undefined) => {
        const code = hex ?? short ?? long;
        if (code !== undefined) return runeOf(Number.parseInt(code, 16), quotedText);
        if (octal !== undefined) return runeOf(Number.parseInt(octal, 8), quotedText);
        const known = char === quote ? char : ownEntry(escapes, char ?? "");
        if (known !== undefined) return known;
        throw badQuote(quotedText);
      },
    );
}

function runeOf(code: number, quotedText: string): string {
  if (code > 0x10ffff) throw badQuote(quotedText);
  return String.fromCodePoint(code);
}

function badQuote(text: string): JsonPathError {
  return new JsonPathError(`unquote string ${text} error invalid syntax`);
}

function isTerminator(char: string): boolean {
  return /[ \t\r\n.,[\]$@{}]/.test(char);
}

function isEndOfLine(char: string): boolean {
  return char === "\r" || char === "\n";
}

function isAlphaNumeric(char: string): boolean {
  return /[_\p{L}\p{Nd}]/u.test(char);
}

/** As Go's %#U: `U+0023 '#'`. */
function goRune(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code} '${char}'`;
}
