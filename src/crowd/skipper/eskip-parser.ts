/**
 * Reads eskip: lists of predicates and filters, and whole routes.
 *
 *   parsePredicates('Method("GET") && Traffic(0.1)')    parseFilters('setPath("/") -> status(200)')
 *   parseRoutes('r1: Path("/a") -> "http://a"; r2: * -> <shunt>')
 *
 * Throws EskipError. A text of blanks and comments is an empty list.
 */
import { EskipError, type Token, type TokenKind, tokensOf } from "./eskip-lexer.ts";
import type { Argument, Backend, Call, Endpoint, Route } from "./route.ts";

export function parsePredicates(text: string): readonly Call[] {
  const parser = new Parser(text);
  const calls = parser.isAtEnd ? [] : parser.predicates();
  parser.expectEnd();
  return calls;
}

export function parseFilters(text: string): readonly Call[] {
  const parser = new Parser(text);
  const calls: Call[] = [];
  if (!parser.isAtEnd) {
    do calls.push(parser.filter());
    while (parser.take("arrow"));
  }
  parser.expectEnd();
  return calls;
}

/** Parses routes. A single route may lack an id (then ""). Routes are validated like in Skipper. */
export function parseRoutes(text: string): readonly Route[] {
  const parser = new Parser(text);
  const routes: Route[] = [];
  while (!parser.isAtEnd) {
    if (parser.take("semicolon")) continue;
    const route = parser.route();
    routes.push(route);
    if (!parser.isAtEnd) parser.expect("semicolon");
  }
  if (routes.length > 1 && routes.some(({ id }) => id === "")) {
    throw new EskipError(0, "several routes need ids");
  }
  for (const route of routes) checkRoute(route);
  return routes;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #end: Token;
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
    this.#end = { kind: "end", text: "", position: text.length };
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  take(kind: TokenKind): boolean {
    const isIt = this.#peek().kind === kind;
    if (isIt) this.#at++;
    return isIt;
  }

  expect(kind: TokenKind): Token {
    const token = this.#peek();
    if (token.kind === kind) {
      this.#at++;
      return token;
    }
    throw new EskipError(token.position, `expected ${kind}, found ${token.kind} ${token.text}`);
  }

  expectEnd(): void {
    if (!this.isAtEnd) this.expect("end");
  }

  route(): Route {
    const id = this.#id();
    const predicates = this.predicates();
    this.expect("arrow");
    const filters: Call[] = [];
    while (this.#peek().kind === "symbol") {
      filters.push(this.filter());
      this.expect("arrow");
    }
    return { id, predicates, filters, backend: this.#backend() };
  }

  predicates(): readonly Call[] {
    const calls: Call[] = [];
    do {
      if (this.take("any")) continue;
      const made = this.filter();
      if (made.name !== "Any") calls.push(made);
    } while (this.take("and"));
    return calls;
  }

  filter(): Call {
    const name = this.expect("symbol").text;
    this.expect("open");
    const args: Argument[] = [];
    if (this.take("close")) return { name, args };
    do args.push(this.#argument());
    while (this.take("comma"));
    this.expect("close");
    return { name, args };
  }

  #id(): string {
    const [name, colon] = this.#tokens.slice(this.#at, this.#at + 2);
    if (name?.kind !== "symbol" || colon?.kind !== "colon") return "";
    this.#at += 2;
    return name.text;
  }

  #argument(): Argument {
    const token = this.#peek();
    if (token.kind === "number") return Number(this.expect("number").text);
    return this.expect("text").text;
  }

  #backend(): Backend {
    const token = this.#peek();
    if (this.take("text")) return { kind: "network", address: token.text };
    if (this.take("backend")) {
      return { kind: token.text.slice(1, -1) as "shunt" | "loopback" | "dynamic" | "forward" };
    }
    this.expect("less");
    return this.#balanced();
  }

  #balanced(): Backend {
    let algorithm = "";
    if (this.#peek().kind === "symbol") {
      algorithm = this.expect("symbol").text;
      this.expect("comma");
    }
    const endpoints: Endpoint[] = [];
    do endpoints.push(endpointOf(this.expect("text").text));
    while (this.take("comma"));
    this.expect("greater");
    return { kind: "lb", algorithm, endpoints };
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? this.#end;
  }
}

/** Skipper writes an endpoint's zone as a query parameter of its address. */
function endpointOf(text: string): Endpoint {
  const [, address = text, zone = ""] = /^([^?]*)\?zone=([^&]+)$/.exec(text) ?? [];
  try {
    return { address, zone: decodeURIComponent(zone) };
  } catch {
    return { address: text, zone: "" };
  }
}

const textArguments: ReadonlyMap<string, number> = new Map([
  ["Path", 1],
  ["Host", 1],
  ["PathRegexp", 1],
  ["Method", 1],
  ["Header", 2],
  ["HeaderRegexp", 2],
]);

function checkRoute({ id, predicates, backend }: Route): void {
  for (const { name, args } of predicates) {
    const count = textArguments.get(name);
    if (count === undefined) continue;
    if (args.length !== count || args.some((one) => typeof one !== "string")) {
      throw new EskipError(0, `route ${id}: ${name} takes ${count} text arguments`);
    }
  }
  for (const name of ["Path", "Method"]) {
    const same = predicates.filter((one) => one.name === name);
    if (same.length > 1) throw new EskipError(0, `route ${id}: ${name} stands twice`);
  }
  const headers = predicates.filter(({ name }) => name === "Header").map(({ args }) => args[0]);
  if (new Set(headers).size < headers.length) {
    throw new EskipError(0, `route ${id}: a header stands twice`);
  }
  if (backend.kind !== "lb") return;
  const schemes = new Set(backend.endpoints.map(({ address }) => address.split("://")[0]));
  if (schemes.size > 1) throw new EskipError(0, `route ${id}: endpoints of several protocols`);
}
