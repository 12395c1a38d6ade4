/**
 * Writes routes as eskip, one a line. Whatever the fields hold, what is read back is the same route: texts are
 * escaped, and nothing but symbols is written unescaped (an injection through a host or a path would add a route).
 *
 * Holds  parseRoutes(printRoute(route)) equals route; a line holds no line end but its own.
 */
import { assert } from "#base/assert.ts";
import type { Argument, Backend, Call, Endpoint, Route } from "./route.ts";

interface PrintOptions {
  /** Whether endpoints include their zone, as Skipper 0.22 and later write it: `http://10.0.0.1:80?zone=eu-1a`. */
  readonly zones: boolean;
}

/** Returns the text of a route, with a line end. */
export function printRoute(
  { id, predicates, filters, backend }: Route,
  options: PrintOptions,
): string {
  assert(symbol.test(id), "the id of a route is a symbol", { id });
  const conditions = predicates.length === 0 ? "*" : predicates.map(printCall).join(" && ");
  const steps = [conditions, ...filters.map(printCall), printBackend(backend, options)];
  return `${id}: ${steps.join(" -> ")};\n`;
}

const symbol = /^[A-Za-z_][A-Za-z0-9_]*$/;

function printCall({ name, args }: Call): string {
  assert(symbol.test(name), "the name of a predicate or filter is a symbol", { name });
  return `${name}(${args.map(printArgument).join(", ")})`;
}

/** Prints an argument. Numbers have no exponent, which eskip does not support. */
function printArgument(value: Argument): string {
  if (typeof value === "string") return quoted(value);
  const text = String(value);
  return text.includes("e") ? value.toFixed(20).replace(/\.?0+$/, "") : text;
}

function printBackend(backend: Backend, options: PrintOptions): string {
  if (backend.kind === "network") return quoted(backend.address);
  if (backend.kind !== "lb") return `<${backend.kind}>`;
  const { algorithm, endpoints } = backend;
  assert(algorithm === "" || symbol.test(algorithm), "an algorithm is a symbol", { algorithm });
  const texts = endpoints.map((endpoint) => quoted(addressOf(endpoint, options)));
  return `<${[...(algorithm === "" ? [] : [algorithm]), ...texts].join(", ")}>`;
}

function addressOf({ address, zone }: Endpoint, { zones }: PrintOptions): string {
  return zones && zone !== "" ? `${address}?zone=${encodeURIComponent(zone)}` : address;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);

/** Returns a text as eskip, with quotes. */
function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is escaped
  return `"${text.replace(/["\\\x07-\r]/g, (char) => escapes.get(char) ?? char)}"`;
}
