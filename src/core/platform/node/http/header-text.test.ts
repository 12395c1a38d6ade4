/** Header values: no two of the wire become one text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { asciiTarget, headerOf, textOf } from "./header-text.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const wire = (bytes: readonly number[]): string => Buffer.from(bytes).toString("latin1");
/** Bytes of text, broken characters and single bytes, mixed. */
const values = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 3 }).map((text) => [...Buffer.from(text)]),
      fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 4 }),
      fc.constantFrom([0xef, 0xbb, 0xbf], [0xed, 0xb2, 0x80], [0xc0, 0xaf], [0xf8], [0xc3]),
    ),
    { maxLength: 6 },
  )
  .map((parts) => wire(parts.flat()));

describe("a header value", () => {
  it("is text in UTF-8", () => {
    assert.equal(textOf(wire([...Buffer.from("bøb")])), "bøb");
    assert.equal(textOf(wire([...Buffer.from("日本")])), "日本");
    assert.equal(textOf("ann"), "ann");
  });

  it("keeps a byte order mark", () => {
    assert.equal(textOf(wire([0xef, 0xbb, 0xbf, 0x61])), "\ufeffa");
  });

  it("is not well-formed when its bytes are not UTF-8", () => {
    const broken = [[0xf8], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xc3], [0xf5, 0x80, 0x80, 0x80]];
    for (const bytes of broken) {
      assert.equal(textOf(wire(bytes)).isWellFormed(), false, bytes.join());
    }
  });

  it("comes back as the bytes it was, whatever they are", () => {
    fc.assert(
      fc.property(values, (value) => assert.equal(headerOf(textOf(value)), value)),
      { seed, numRuns: 5_000 },
    );
  });
});

describe("a request target", () => {
  it("is ASCII, and means the same", () => {
    assert.equal(asciiTarget(wire([...Buffer.from("/a/bøb?x=1")])), "/a/b%C3%B8b?x=1");
    assert.equal(asciiTarget("/a/b%2f"), "/a/b%2f");
  });
});
