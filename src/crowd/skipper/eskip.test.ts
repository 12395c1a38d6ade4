/** eskip as text: what is written is read back as the same, whatever it holds; a mistake names its position. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { EskipError } from "./eskip-lexer.ts";
import { parseFilters, parsePredicates, parseRoutes } from "./eskip-parser.ts";
import { printRoute } from "./eskip-print.ts";
import type { Backend, Call, Route } from "./route.ts";

const symbol = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/).filter((name) => !named.has(name));
/** Their arguments are checked, and `Any` says nothing. */
const named = new Set(["Path", "Host", "PathRegexp", "Method", "Header", "HeaderRegexp", "Any"]);
const signs = [
  '"',
  "\\",
  "/",
  "\n",
  "\r",
  "\t",
  "`",
  ";",
  "->",
  "<shunt>",
  "&&",
  "\u2028",
  "\x00",
  "é",
  "😀",
];
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom(...signs, "a", "*"), { maxLength: 8 }).map((parts) => parts.join("")),
);
const argument = fc.oneof(text, fc.integer(), fc.constantFrom(0.25, 1e-7, 1 / 3));
const calls = fc.array(fc.record({ name: symbol, args: fc.array(argument, { maxLength: 3 }) }), {
  maxLength: 3,
});
const backend: fc.Arbitrary<Backend> = fc.oneof(
  fc.record({ kind: fc.constant("network" as const), address: text }),
  fc.record({ kind: fc.constantFrom("shunt" as const, "loopback" as const, "dynamic" as const) }),
  fc.record({
    kind: fc.constant("lb" as const),
    algorithm: fc.oneof(fc.constant(""), symbol),
    endpoints: fc.array(
      fc.record({
        address: fc.webAuthority().map((host) => `http://${host}`),
        zone: fc.constantFrom("", "eu-1a", "a zone&b"),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);
const route: fc.Arbitrary<Route> = fc.record({
  id: symbol,
  predicates: calls,
  filters: calls,
  backend,
});

void describe("a route written as eskip", () => {
  void it("is read back as the same route, and is one line", () => {
    fc.assert(
      fc.property(fc.array(route, { maxLength: 4 }), (routes) => {
        const lines = routes.map((one) => printRoute(one, { zones: true }));
        assert.deepEqual(simple(parseRoutes(lines.join(""))), simple(routes));
        for (const line of lines) assert.equal(line.indexOf("\n"), line.length - 1);
      }),
    );
  });
});

/** Without prototypes; a fraction is as exact as twenty digits. */
function simple(value: readonly Route[]): unknown {
  return JSON.parse(JSON.stringify(value));
}

void describe("eskip", () => {
  void it("has comments, regular expressions, and several kinds of quotes", () => {
    const [first, second] = parseRoutes(`
      // all of it
      web: Path("/a") && Host(/^a[/.]b\\/\\d$/) -> setPath(\`\\"\`) -> <roundRobin, "http://a", "http://b">;
      rest: * -> <shunt>;
    `);
    const calls = (list: readonly Call[] = []): unknown =>
      list.map(({ name, args }) => [name, ...args]);
    assert.deepEqual(calls(first?.predicates), [
      ["Path", "/a"],
      ["Host", "^a[/.]b/\\d$"],
    ]);
    assert.deepEqual(calls(first?.filters), [["setPath", '\\"']]);
    assert.equal(first?.backend.kind, "lb");
    assert.deepEqual(second, {
      id: "rest",
      predicates: [],
      filters: [],
      backend: { kind: "shunt" },
    });
    assert.deepEqual(parseFilters(" // nothing"), []);
    assert.deepEqual(parsePredicates("True() && Any()"), [{ name: "True", args: [] }]);
  });

  for (const [wrong, told] of [
    ['a() -> b("', "position 9: unclosed text"],
    ["a(/b)", "position 2: unclosed regular expression"],
    ["a(1.)", "position 2: incomplete number"],
    ["a(1", "position 3: expected close, found end "],
    ["a() b()", "position 4: expected end, found symbol b"],
    ["a(b)", "position 2: expected text, found symbol b"],
    ["ä()", "position 0: unexpected character"],
  ] as const) {
    void it(`is refused with the position: ${wrong}`, () => {
      assert.throws(() => parseFilters(wrong), new EskipError(0, "").constructor);
      assert.throws(() => parseFilters(wrong), { message: told });
    });
  }

  for (const wrong of [
    "a: * -> <shunt>; * -> <shunt>",
    'a: Path("/a") && Path("/b") -> <shunt>',
    'a: Header("X", "1") && Header("X", "2") -> <shunt>',
    "a: Host(1) -> <shunt>",
    'a: * -> <"http://a", "https://b">',
  ]) {
    void it(`is refused as a list of routes: ${wrong}`, () => {
      assert.throws(() => parseRoutes(wrong), EskipError);
    });
  }
});
