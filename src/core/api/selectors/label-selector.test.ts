/** Label selectors as clients write them: read, printed, refused, matched. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  SelectorError,
  formatLabelSelector,
  labelsMatch,
  parseLabelSelector,
  printLabelSelector,
  selectNothing,
  selectorFromLabelSelector,
  selectorFromMap,
} from "./label-selector.ts";

const parsed: readonly (readonly [string, string])[] = [
  ["", ""],
  ["x", "x"],
  ["!x", "!x"],
  ["x=a,y=b,z=c", "x=a,y=b,z=c"],
  ["x==a", "x==a"],
  ["x=", "x="],
  [" x != a ", "x!=a"],
  ["x in (a,b)", "x in (a,b)"],
  ["x in (b,a,b)", "x in (a,b)"],
  ["x notin ()", "x notin ()"],
  ["x in (,a)", "x in (,a)"],
  ["x in (a,)", "x in (,a)"],
  ["x in (a,,b)", "x in (,a,b)"],
  ["in in (in,notin)", "in in (in,notin)"],
  ["x>1,y<4", "x>1,y<4"],
  ["z,a in (b),!c", "a in (b),!c,z"],
  ["example.com/x=1", "example.com/x=1"],
];

for (const [text, printed] of parsed) {
  test(`the label selector "${text}" reads as "${printed}"`, () => {
    assert.equal(printLabelSelector(parseLabelSelector(text)), printed);
  });
}

const refused: readonly (readonly [string, string])[] = [
  ["x=a||y=b", 'unable to parse requirement: values[0][x]: Invalid value: "a||y"'],
  [",x", "found ',', expected: !, identifier, or 'end of string'"],
  ["x,", "found '', expected: identifier after ','"],
  ["x=a b", "found 'b', expected: ',' or 'end of string'"],
  ["!x=a", "found '=', expected: ',' or 'end of string'"],
  ["x in a", "unable to parse requirement: found 'a' expected: '('"],
  ["x in (a", "unable to parse requirement: found '', expected: ',' or ')'"],
  ["x a", "unable to parse requirement: found 'a', expected: in, notin, =, ==, !=, gt, lt"],
  ["x>a", "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt'"],
  ["x@y", 'unable to parse requirement: <nil>: Invalid value: "x@y": name part must consist of'],
  ["!", "unable to parse requirement: found '', expected: identifier"],
];

for (const [text, message] of refused) {
  test(`the label selector "${text}" is refused in upstream's words`, () => {
    assert.throws(
      () => parseLabelSelector(text),
      (error) => error instanceof SelectorError && error.message.startsWith(message),
    );
  });
}

const matches: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ["", {}, true],
  ["x=a", { x: "a" }, true],
  ["x=a", { x: "b" }, false],
  ["x=", {}, false],
  ["x!=a", {}, true],
  ["x notin (a)", { x: "a" }, false],
  ["x notin (a)", {}, true],
  ["x in (a,b)", { x: "b" }, true],
  ["x", { x: "" }, true],
  ["!x", { x: "" }, false],
  ["x>1", { x: "2" }, true],
  ["x>1", { x: "1" }, false],
  ["x<1", { x: "z" }, false],
  ["x>1", {}, false],
  ["constructor", {}, false],
];

for (const [text, labels, expected] of matches) {
  test(`"${text}" ${expected ? "selects" : "leaves out"} ${JSON.stringify(labels)}`, () => {
    assert.equal(labelsMatch(parseLabelSelector(text), labels), expected);
  });
}

test("an absent label selector selects nothing and an empty one everything", () => {
  assert.equal(labelsMatch(selectorFromLabelSelector(undefined), { x: "a" }), false);
  assert.equal(labelsMatch(selectNothing, { "": "" }), false);
  assert.equal(labelsMatch(selectorFromLabelSelector({}), { x: "a" }), true);
  assert.equal(labelsMatch(selectorFromMap(undefined), {}), true);
});

test("match labels and expressions become one sorted selector", () => {
  const spec = {
    matchLabels: { b: "1" },
    matchExpressions: [
      { key: "a", operator: "In", values: ["y", "x"] },
      { key: "c", operator: "DoesNotExist" },
    ],
  };
  assert.equal(formatLabelSelector(spec), "a in (x,y),b=1,!c");
  assert.equal(formatLabelSelector({}), "<none>");
  assert.equal(
    formatLabelSelector({ matchExpressions: [{ key: "a", operator: "In", values: [] }] }),
    "<error>",
  );
  assert.throws(
    () => selectorFromLabelSelector({ matchExpressions: [{ key: "a", operator: "is" }] }),
    /"is" is not a valid label selector operator/,
  );
});

test("a printed selector reads back as itself, and any text is read or refused", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from("ab =!,()<>in")), maxLength: 12 }),
      (text) => {
        try {
          const printed = printLabelSelector(parseLabelSelector(text));
          assert.equal(printLabelSelector(parseLabelSelector(printed)), printed);
        } catch (error) {
          assert.ok(error instanceof SelectorError);
        }
      },
    ),
    { numRuns: 500 },
  );
});
