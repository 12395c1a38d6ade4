/** Integers in texts, compared with what strconv.ParseInt makes of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clampToSafe, parseInt32, parseInt64, parseInt64Error } from "./go-integer.ts";
import { nodeTermMatches, tolerates } from "../selectors/node-match.ts";
import { appsRows } from "../strategies/apps.ts";

const cases: readonly (readonly [string, bigint | undefined])[] = [
  ["0", 0n],
  ["+7", 7n],
  ["-7", -7n],
  ["007", 7n],
  ["9007199254740993", 9007199254740993n],
  ["9223372036854775807", 9223372036854775807n],
  ["-9223372036854775808", -9223372036854775808n],
  ["9223372036854775808", undefined],
  ["", undefined],
  ["1e3", undefined],
  [" 1", undefined],
  ["0x10", undefined],
];
for (const [text, expected] of cases) {
  test(`parseInt64 of ${JSON.stringify(text)}: ${expected ?? "none"}`, () => {
    assert.equal(parseInt64(text), expected);
  });
}

test("32 bits are exact, and what a text is not is told in Go's words", () => {
  assert.equal(parseInt32("2147483647"), 2147483647);
  assert.equal(parseInt32("2147483648"), undefined);
  assert.equal(parseInt64Error("x"), 'strconv.ParseInt: parsing "x": invalid syntax');
  const large = "99999999999999999999";
  assert.equal(parseInt64Error(large), `strconv.ParseInt: parsing "${large}": value out of range`);
  assert.equal(clampToSafe(2n ** 63n - 1n), Number.MAX_SAFE_INTEGER);
});

test("Gt and Lt of node labels and taints tell integers beyond 2^53 apart", () => {
  const node = { metadata: { name: "n", labels: { k: "9007199254740993" } } };
  const holds = (operator: string): boolean =>
    nodeTermMatches(
      { matchExpressions: [{ key: "k", operator, values: ["9007199254740992"] }] },
      node,
    );
  assert.deepEqual([holds("Gt"), holds("Lt")], [true, false]);
  const taint = { key: "k", value: "9007199254740993", effect: "NoSchedule" };
  const toleration = { key: "k", operator: "Gt", value: "9007199254740992" };
  assert.equal(tolerates([toleration], taint), true);
});

test("the template generation of a DaemonSet counts on beyond 2^53", () => {
  const at = (image: string) => ({
    metadata: {
      annotations: { "deprecated.daemonset.template.generation": "9007199254740993" },
    },
    spec: { template: { spec: { containers: [{ name: "c", image }] } } },
  });
  const next = appsRows["daemonsets"]?.prepareForUpdate?.(at("b"), at("a"));
  assert.deepEqual(next?.metadata?.annotations, {
    "deprecated.daemonset.template.generation": "9007199254740994",
  });
});
