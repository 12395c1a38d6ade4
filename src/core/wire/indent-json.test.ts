/** Indented JSON is what JSON.stringify makes of the value. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { indentJson } from "./indent-json.ts";

function indented(text: string, level?: number): string {
  return Buffer.from(indentJson(Buffer.from(text), level)).toString();
}

const texts = ["", "a", '"', "\\", '\\"', "{[,:]}", "é\u{1f600}", "line\n", "x".repeat(100)];

function valueOf(random: FakeRandom, depth: number): unknown {
  const text = (): string => texts[random.below(texts.length)] ?? "";
  switch (random.below(depth > 4 ? 5 : 7)) {
    case 0:
      return null;
    case 1:
      return random.below(2) === 0;
    case 2:
      return random.below(1_000) / 8;
    case 3:
    case 4:
      return text();
    case 5:
      return Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1));
    default: {
      const entries = Array.from({ length: random.below(4) }, (_, at) => [
        `${text()}${at}`,
        valueOf(random, depth + 1),
      ]);
      return Object.fromEntries(entries);
    }
  }
}

test("random values are indented as by JSON.stringify, from a level on", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const value = valueOf(new FakeRandom(seed), 0);
    const plain = JSON.stringify(value, undefined, 2);
    assert.equal(indented(JSON.stringify(value)), plain, `seed ${seed}`);
    assert.equal(indented(plain), plain, `seed ${seed}, indented before`);
    assert.equal(indented(JSON.stringify(value), 2), plain.replaceAll("\n", "\n    "));
  }
});

test("what is no valid JSON ends", () => {
  for (const text of ['"open', '"\\', "{", "]", "{ "]) indented(text, 3);
});
