/**
 * Random expressions over random schemas: what one costs stays within its estimate, and any text at all is either
 * compiled or refused. PILOTHOUSE_SEED chooses the run.
 *
 * Within: at most twice the estimate and two units. Upstream's estimate, which is ours, takes the comparison of numbers
 * and the fields and indexes of a made value as free, which cost a unit each. Left out because it is too low without such
 * a bound: keys of maps, `split`, `join`, `validate`, and what has no declared type.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import { Environment } from "./environment.ts";
import { estimateCost } from "./estimate.ts";
import { jsonValue } from "./json-values.ts";
import { type Schema, schemaNode, schemaTypes } from "./schema-types.ts";
import { schemaSizes } from "./schema-sizes.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const runs = 4_000;

/** mulberry32. */
class Dice {
  #state: number;

  constructor(start: number) {
    this.#state = start;
  }

  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T; // never empty
  }

  many<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }
}

type Kind = "bool" | "int" | "text" | "texts" | "ints" | "items";
type Scope = readonly (readonly [string, Kind])[];

/** Letters stand for parts: `B`ool, `I`nt, `T`ext, `L`ist of texts, list of i`N`ts, list of `O`bjects, by a `$`. */
const grammar: Readonly<Record<Kind, readonly string[]>> = {
  bool: `true|false|self.b|$I < $I|$I == $I|$T == $T|$T != $T|$T < $T|$T.contains($T)|$T.startsWith($T)|$T.endsWith($T)
    |$T in $L|$I in $N|$T in ['a', 'b']|($B) && ($B)|($B) OR ($B)|!($B)|$L == $L|$N == $N|$O == $O|has(self.t)|has(self.m)
    |$T.matches('^a.*b$')|$L.all(x1, $B)|$L.exists(x2, $B)|$L.exists_one(x3, $B)|$O.all(y1, $B)|$O.exists(y2, $B)
    |$L.all(n1, x4, $B)|$B ? $B : $B|'a' in self.m|self.m.all(n2, x5, $B)|sets.contains($L, $L)|isQuantity($T)
    |$L.isSorted()|isIP($T)`
    .split(/\s*\|\s*/)
    .map((rule) => rule.replace("OR", "||")),
  int: [
    "0",
    "3",
    "self.i",
    "$T.size()",
    "size($L)",
    "size($N)",
    "($I) + ($I)",
    "($B ? $I : $I)",
    "$N.sum()",
    "$N[0]",
  ].concat(["$O[0].v", "$T.indexOf($T)", "size(self.m)", "int('7')"]),
  text: [
    ..."''|'a'|'bcd'|self.t|self.t|$T + $T|($B ? $T : $T)|$T.lowerAscii()|$T.trim()|$L[0]|$O[0].n|self.m['a']".split(
      "|",
    ),
    ..."$T.substring(1)|$T.replace('a', 'bc')|string($I)|$T.find('a+')|self.?t.orValue('z')".split(
      "|",
    ),
  ],
  texts: [
    ..."self.l|self.l|self.s|[$T, $T]|['a', 'b']|$L + $L|$L.filter(x6, $B)|$L.map(x7, $T)".split(
      "|",
    ),
    ..."$L.map(x8, $B, $T)|$O.map(y3, y3.n)|$O[0].t|$L.distinct()|$L.sort()|$L.sortBy(x9, $I)".split(
      "|",
    ),
    ..."($B ? $L : $L)|$L.transformList(n3, x10, $T)|$L.reverse()|$L.slice(0, 1)".split("|"),
  ],
  ints: "self.n|[1, 2]|[$I]|$N + $N|$L.map(x11, $I)|$N.filter(n4, $B)|$O.map(y4, y4.v)|lists.range(3)".split(
    "|",
  ),
  items: "self.o|self.o|$O.filter(y5, $B)|$O + $O|($B ? $O : $O)|$O.sortBy(y6, y6.v)".split("|"),
};
const kinds: Readonly<Record<string, Kind>> = {
  B: "bool",
  I: "int",
  T: "text",
  L: "texts",
  N: "ints",
  O: "items",
};
const simplest: Readonly<Record<Kind, string>> = {
  bool: "self.b",
  int: "self.i",
  text: "self.t",
  texts: "self.l",
  ints: "self.n",
  items: "self.o",
};

let names = 0;

function expression(dice: Dice, kind: Kind, depth: number, scope: Scope): string {
  const own = scope.filter(([, one]) => one === kind).map(([name]) => name);
  if (own.length > 0 && dice.below(3) === 0) return dice.pick(own);
  if (depth <= 0) return simplest[kind];
  const rule = dice.pick(grammar[kind]);
  names += 1;
  // The variables of a fold have names of their own, and are seen to the right of their declaration.
  const mark = `_${names}`;
  let inner = scope;
  return rule.replace(/\$([BITLNO])|\b([xyn]\d+)\b/g, (_, part?: string, name?: string) => {
    if (part !== undefined) return expression(dice, kinds[part] ?? "bool", depth - 1, inner);
    const made = `${name}${mark}`;
    if (name?.startsWith("x") === true) inner = [...inner, [made, "text"]];
    if (name?.startsWith("n") === true && !rule.startsWith("self.m"))
      inner = [...inner, [made, "int"]];
    if (name?.startsWith("y") === true)
      inner = [...inner, [`${made}.n`, "text"], [`${made}.v`, "int"], [`${made}.t`, "texts"]];
    return made;
  });
}

interface World {
  readonly schema: Schema;
  readonly self: unknown;
}

function world(dice: Dice): World {
  const most = { text: dice.below(30), list: dice.below(6), map: dice.below(4) };
  const text: Schema = { type: "string", maxLength: most.text };
  const list = (items: Schema, type?: string): Schema => ({
    type: "array",
    maxItems: most.list,
    items,
    ...given({ "x-kubernetes-list-type": type }),
  });
  const int: Schema = { type: "integer" };
  const properties = {
    b: { type: "boolean" },
    i: int,
    t: text,
    l: list(text),
    s: list(text, "set"),
    n: list(int),
    o: list({ type: "object", properties: { v: int, n: text, t: list(text) } }),
    m: { type: "object", maxProperties: most.map, additionalProperties: text },
  };
  const letters = ["a", "b", "é", "1"];
  const someText = (): string => dice.many(most.text, () => dice.pick(letters)).join("");
  const someTexts = (): string[] => dice.many(most.list, someText);
  const someInt = (): number => dice.below(4);
  const keys = dice.many(most.map, () => dice.pick(letters));
  const self = {
    b: dice.below(2) === 0,
    i: someInt(),
    t: someText(),
    l: someTexts(),
    s: [...new Set(someTexts())],
    n: dice.many(most.list, someInt),
    o: dice.many(most.list, () => ({ v: someInt(), n: someText(), t: someTexts() })),
    m: Object.fromEntries(keys.map((key) => [key, someText()])),
  };
  return { schema: { type: "object", properties }, self };
}

/** What the expression cost and might have cost; undefined: it is refused. */
function measure(text: string, { schema, self }: World): readonly [number, number] | undefined {
  const node = schemaNode(schema, "selfType");
  assert.ok(node);
  const variables = new Map([["self", node.type]]);
  const compiled = new Environment({ variables, types: schemaTypes([node]) }).compile(text);
  if (compiled.kind === "errors") return undefined;
  const { program } = compiled;
  const { cost } = program.evaluate(new Map([["self", jsonValue(self, node)]]));
  return [cost, estimateCost(program.checked, schemaSizes(node)).max];
}

test("the cost of a random expression stays within its estimate", () => {
  const dice = new Dice(seed);
  const wrong: unknown[] = [];
  let compiled = 0;
  for (let run = 0; run < runs; run++) {
    const one = world(dice);
    const text = expression(dice, dice.pick(Object.values(kinds)), dice.below(5), []);
    const measured = measure(text, one);
    if (measured === undefined) continue;
    compiled += 1;
    const [cost, most] = measured;
    if (cost > 2 * most + 2) wrong.push({ text, cost, most, ...one });
  }
  assert.deepEqual(wrong, []);
  assert.ok(compiled > runs * 0.9, `only ${compiled} expressions were compiled`);
});

const tokens = [
  ...`self t l o m x a true null in has all map 1 2u 0x1F 1.5 'a' "b" b'c' r'd' é 😀 \\n \u0000 \ud800`.split(
    " ",
  ),
  ..."( ) [ ] { } . , ? : + - * / % ! < > = == != && || .? [? // ''' ` \"".split(" "),
];

/** The compiler's errors are answers; whatever is thrown fails the test. */
function compileAndRun(text: string): void {
  const compiled = new Environment({ variables: new Map() }).compile(text);
  if (compiled.kind === "errors") assert.ok(compiled.message.length > 0);
  else assert.ok(compiled.program.evaluate(new Map(), 10_000));
}

test("random bytes and tokens are compiled or refused", () => {
  const dice = new Dice(seed);
  for (let run = 0; run < runs; run++) {
    compileAndRun(dice.many(40, () => String.fromCharCode(dice.below(256))).join(""));
    compileAndRun(dice.many(30, () => dice.pick(tokens)).join(dice.pick(["", " "])));
  }
});

test("an expression with a token changed, left out or repeated is compiled or refused", () => {
  const dice = new Dice(seed);
  for (let run = 0; run < runs; run++) {
    const text = expression(dice, dice.pick(Object.values(kinds)), 3, []);
    const at = dice.below(text.length);
    const change = dice.pick([dice.pick(tokens), "", text.slice(at, at + dice.below(9)).repeat(2)]);
    measure(text.slice(0, at) + change + text.slice(at + dice.below(3)), world(dice));
  }
});

/** Milliseconds of processor time, the least of three runs: the bound is ten times what the slowest shape takes. */
test("a text of 20,000 repetitions of any token is compiled or refused in little time", () => {
  const shapes = [
    "(",
    "[",
    "{1:",
    "!",
    "-",
    "a.",
    "1+",
    "a?",
    "'",
    "a(",
    "[].map(x,",
    "`",
    "//",
    "\\",
  ];
  for (const shape of shapes) {
    const text = shape.repeat(20_000);
    const times = Array.from({ length: 3 }, () => {
      const start = process.cpuUsage();
      compileAndRun(text);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1_000;
    });
    assert.ok(Math.min(...times) < 500, `${shape}: ${Math.min(...times)} ms`);
  }
});
