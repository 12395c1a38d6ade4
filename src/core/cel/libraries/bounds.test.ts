/** Hostile arguments: the cost is known before the work, the work is linear, nothing grows unboundedly. */
import { equal, match, ok, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { Environment } from "../environment.ts";
import { callCost } from "./call-cost.ts";
import { librariesOf } from "./kubernetes.ts";
import { FunctionError, costMax, elementsMax } from "./limits.ts";
import { withPatternBudget } from "./regex-library.ts";
import { findEach, findLastText, findText } from "./text-search.ts";
import {
  Duration,
  Uint,
  equalValues,
  listItems,
  listValue,
  mapValue,
  printValue,
} from "./values.ts";
import type { Value } from "./values.ts";

const overloads = new Map(
  librariesOf(36).flatMap(({ functions }) =>
    functions.flatMap(({ overloads: all }) => all.map((overload) => [overload.id, overload])),
  ),
);

function call(id: string, ...args: readonly Value[]): Value {
  const overload = overloads.get(id);
  ok(overload !== undefined, id);
  return overload.call(...args);
}

/** A budget of one call, in units. */
const callBudget = 1_000_000;
const million = "a".repeat(1_000_000);

describe("the cost of a call is known before its work is done", () => {
  const costs: readonly [string, string, readonly Value[]][] = [
    ["lists.range", "lists_range", [1_000_000_000n]],
    ["sort", "list_int_sort", [listValue(Array<Value>(1_000).fill(1n))]],
    ["distinct", "list_distinct", [listValue(Array<Value>(1_000).fill(1n))]],
    ["find", "string_find_string", [million, "(a|b)*c".repeat(10)]],
    ["join", "list_join_string", [listValue(Array<Value>(100).fill("")), million]],
    [
      "sets.contains",
      "list_sets_contains_list",
      [listValue(Array<Value>(2_000).fill(1n)), listValue(Array<Value>(2_000).fill(2n))],
    ],
  ];
  for (const [name, id, args] of costs) {
    it(`${name} on large arguments is over the budget`, () => {
      ok((callCost(name, id, args) ?? 0) > callBudget);
    });
  }

  it("a shared list is walked no further than the largest budget", () => {
    let nested: Value = listValue([]);
    for (let depth = 0; depth < 40; depth++) nested = listValue([nested, nested]);
    equal(callCost("indexOf", "list_a_index_of_int", [nested, 1n]), costMax);
  });
});

describe("no function makes an unbounded value, whatever the budget", () => {
  const refused: readonly [string, string, readonly Value[]][] = [
    ["lists.range of a billion", "lists_range", [1_000_000_000n]],
    ["lists.range of the largest int", "lists_range", [2n ** 63n - 1n]],
    [
      "replace of each character by a long text",
      "string_replace_string_string",
      [million, "a", million],
    ],
    ["replace between characters", "string_replace_string_string", [million, "", million]],
    [
      "join with a long separator",
      "list_join_string",
      [listValue(Array<Value>(1_000).fill("")), million],
    ],
    [
      "format with a large precision, often",
      "string_format",
      ["%.1000000f".repeat(100), listValue(Array<Value>(100).fill(1.5))],
    ],
    [
      "format of a shared text",
      "string_format",
      ["%s", listValue([listValue(Array<Value>(1_000).fill(million))])],
    ],
  ];
  for (const [title, id, args] of refused) {
    it(`${title} is refused`, () => {
      throws(() => call(id, ...args), FunctionError);
    });
  }

  it("flatten of a shared list is refused after a bounded number of steps", () => {
    let nested: Value = listValue([1n, 2n]);
    for (let depth = 0; depth < 40; depth++) nested = listValue([nested, nested]);
    throws(() => call("list_flatten_int", nested, 50n), /more than 1000000 elements/);
    let hollow: Value = listValue([]);
    for (let depth = 0; depth < 40; depth++) hollow = listValue([hollow, hollow]);
    throws(() => call("list_flatten_int", hollow, 50n), /more than 1000000 elements/);
  });

  it("two shared lists are compared in a bounded number of steps", () => {
    const nest = (): Value => {
      let nested: Value = listValue([1n]);
      for (let depth = 0; depth < 40; depth++) nested = listValue([nested, nested]);
      return nested;
    };
    throws(() => equalValues(nest(), nest()), /values are too large to compare/);
  });

  it("maps are equal whatever the order and the number type of their keys", () => {
    const entries = (values: readonly Value[]): Value =>
      mapValue(values.map((key): [Value, Value] => [key, "x"]));
    equal(equalValues(entries([1n, "a", true]), entries([true, new Uint(1n), "a"])), true);
    equal(equalValues(entries([1n, "a"]), entries([1n, "b"])), false);
  });

  it("findAll gives no more elements than the bound", () => {
    equal(listItems(call("string_find_all_string", "a".repeat(1_000), ""))?.length, 1_001);
    throws(() => call("string_find_all_string", "a".repeat(elementsMax + 1), "a"), FunctionError);
  });

  it("a quantity with a huge exponent is refused without being made", () => {
    equal(call("is_quantity_string", "1e999999999"), false);
    equal(call("is_quantity_string", `1${"0".repeat(100_000)}`), false);
    equal(call("is_semver_string", `${"9".repeat(100_000)}.0.0`), false);
    equal(call("is_cidr", `1.2.3.4/${"9".repeat(100_000)}`), false);
  });

  it("a sum that leaves its type is an error", () => {
    const long = new Duration(2n ** 63n - 1n);
    throws(() => call("list_duration_sum_duration", listValue([long, long])), /integer overflow/);
    throws(() => call("list_int_sum_int", listValue([2n ** 63n - 1n, 1n])), /integer overflow/);
  });
});

describe("work is linear in the text", () => {
  it("a pattern that backtracks elsewhere is matched in one pass", () => {
    equal(call("string_find_string", "a".repeat(20_000), "(a+)+$b"), "");
    equal(call("string_find_string", "a".repeat(20_000), "(a|aa)+$c"), "");
  });

  it("a pattern whose program would be too large is refused", () => {
    throws(() => call("string_find_string", "x", "((a{1000}){1000}){1000}"), /Illegal regex/);
  });

  it("a short pattern of many steps is refused before it is compiled", () => {
    const find = (pattern: string): Value => call("string_find_string", "x", pattern);
    throws(() => find("a{1000}".repeat(11)), /expression too large/);
    throws(() => find(`${"(".repeat(3)}ab${"){22}".repeat(3)}`), /expression too large/);
    throws(() => find("[a-z]{1,900}(b|c){0,900}".repeat(5)), /expression too large/);
    equal(find("[{][1][,]x{1,3}|\\x{78}{1,1000}"), "x");
  });

  it("an evaluation compiles a bounded number of steps", () => {
    const find = (pattern: string): Value => call("string_find_string", "x", pattern);
    const compileMany = (): void => {
      for (let at = 0; at < 100; at++) find(`a{1000}${at}`);
    };
    throws(() => withPatternBudget(5_000, compileMany), /too large to compile/);
    withPatternBudget(5_000, () => find("budget{1000}"));
    // Known by now: costs nothing again.
    withPatternBudget(0, () => find("budget{1000}"));
  });

  it("searching a text of repetitions for a long repetition ends at once", () => {
    const half = "a".repeat(400_000);
    equal(call("string_index_of_string", million, `b${half}`), -1n);
    equal(call("string_index_of_string", million, `${half}b`), -1n);
    equal(call("string_last_index_of_string", million, `b${half}`), -1n);
    equal(call("string_replace_string_string", million, `${half}b`, ""), million);
  });

  it("long and short patterns are found at the same places", () => {
    const pattern = "abcab".repeat(8);
    const text = `${pattern}x${pattern}cab${pattern}`;
    equal(findText(text, pattern, 0), text.indexOf(pattern));
    equal(findText(text, pattern, 1), text.indexOf(pattern, 1));
    equal(findText(text, `${pattern}y`, 0), -1);
    for (const from of [0, 10, 41, 60, text.length]) {
      equal(findLastText(text, pattern, from), text.lastIndexOf(pattern, from));
    }
    equal(findEach(text, pattern, 10).length, text.split(pattern).length - 1);
    equal(findEach(text, pattern, 1).length, 1);
  });

  it("trimming a text of spaces ends at once", () => {
    equal(
      call("string_trim", `${" ".repeat(500_000)}x${" ".repeat(500_000)}y`),
      `x${" ".repeat(500_000)}y`,
    );
  });
});

describe("any text is answered with a value or an evaluation error", () => {
  const parts = [
    ...Array.from("0123456789abfvxzTKMimneE.:/?#[]@%+-_~ \\\"'(){}*|^$,;=&\n\u0000üé😀"),
    "::",
    "%25",
    "1e",
    "v1",
    "ffff:",
  ];

  /** Multiplicative congruence: the same texts at every run. */
  function randomTexts(count: number): string[] {
    let state = 20_261_122;
    const below = (bound: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % bound;
    };
    return Array.from({ length: count }, () =>
      Array.from({ length: below(24) }, () => parts[below(parts.length)] ?? "").join(""),
    );
  }

  it("by every function of one, two or three texts", () => {
    const texts = randomTexts(400);
    const functions = [...overloads.values()].filter(
      ({ args }) => args.length > 0 && args.every(({ name }) => name === "string"),
    );
    ok(functions.length > 15);
    for (const { call: run, args } of functions) {
      for (const [at, text] of texts.entries()) {
        const rest = args.slice(1).map((_, index) => texts[(at + index + 1) % texts.length] ?? "");
        answerOrRefuse(() => run(text, ...rest));
      }
    }
  });

  it("what parses once parses again to an equal value", () => {
    for (const id of ["string_to_url", "string_to_ip", "string_to_cidr", "string_to_quantity"]) {
      for (const text of randomTexts(2_000)) {
        const value = answerOrRefuse(() => call(id, text));
        if (value !== undefined) equal(equalValues(value, call(id, text)), true);
      }
    }
  });

  function answerOrRefuse(run: () => Value): Value | undefined {
    try {
      return run();
    } catch (error) {
      if (error instanceof FunctionError) return undefined;
      throw error;
    }
  }
});

describe("libraries come with their version", () => {
  const answer = (minor: number, text: string): string => {
    const compiled = new Environment({ variables: new Map(), minor }).compile(text);
    if (compiled.kind === "errors") return compiled.message;
    const outcome = compiled.program.evaluate(new Map());
    return outcome.kind === "value" ? printValue(outcome.value) : outcome.message;
  };

  it("a function is unknown before the version that has it", () => {
    match(answer(33, "[2, 1].sort()"), /undeclared reference to 'sort'/);
    match(answer(32, 'isSemver("1.2.3")'), /undeclared reference to 'isSemver'/);
    match(answer(28, '"%s".format([1])'), /undeclared reference to 'format'/);
    match(answer(29, 'isIP("::1")'), /undeclared reference to 'isIP'/);
    equal(answer(28, '"a".charAt(0)'), "a");
    equal(answer(33, 'isSemver("1.2.3")'), "true");
  });

  it("texts have no reverse in any version", () => {
    match(answer(33, '"ab".reverse()'), /undeclared reference to 'reverse'/);
    match(answer(36, '"ab".reverse()'), /no matching overload for 'reverse'/);
  });
});
