/** Bodies put together of parts: the bytes, their compressions, and what a change costs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32, gunzipSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { Pace } from "#platform/pace.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { chooseCoding } from "./accept-encoding.ts";
import { BodyPart, PartedBody } from "./body-part.ts";
import { hasContent } from "./conditions.ts";
import { combineCrc, crcShift } from "./crc.ts";
import { type Row, RowBlocks } from "../views/row-blocks.ts";

function row(place: string, text = place): Row {
  return { place, hash: 0n, bytes: () => Buffer.from(text) };
}

void describe("a body of parts", () => {
  void it("is one gzip member and a row of zstd frames of the same bytes", async () => {
    const texts = ["", "head", "x".repeat(100_000), ",", "tail é\n", ""];
    const body = new PartedBody(texts.map((text) => new BodyPart(() => Buffer.from(text))));
    assert.equal(
      Buffer.concat(await body.plain(new Pace(new FakeClock()))).toString(),
      texts.join(""),
    );
    assert.equal(gunzipSync(await body.packed("gzip")).toString(), texts.join(""));
    assert.equal(zstdDecompressSync(await body.packed("zstd")).toString(), texts.join(""));
    const empty = new PartedBody([]);
    assert.equal(gunzipSync(await empty.packed("gzip")).length, 0);
  });

  void it("has the CRC of the whole from those of the parts", () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(bytes, bytes, (first, second) => {
        const whole = crc32(Buffer.concat([first, second]));
        assert.equal(combineCrc(crc32(first), crc32(second), crcShift(second.length)), whole);
      }),
      { seed: 11 },
    );
  });
});

void describe("rows in blocks", () => {
  void it("are what a sorted map is, in the same blocks whatever the order they came in", () => {
    const place = fc.integer({ min: 0, max: 60 }).map((n) => `p${n}`);
    const change = fc.tuple(place, fc.option(fc.string({ maxLength: 3 }), { nil: undefined }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
        const blocks = new RowBlocks(Buffer.from(","), { blockRows: 4 });
        const model = new Map<string, string>();
        for (const [at, text] of changes) {
          if (text === undefined) {
            model.delete(at);
            blocks.delete(at);
          } else {
            model.set(at, text);
            blocks.set(row(at, text));
          }
        }
        const fresh = new RowBlocks(Buffer.from(","), { blockRows: 4 });
        const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
        for (const [at, text] of sorted) fresh.set(row(at, text));
        const textsOf = (made: RowBlocks): string[] =>
          made.parts().map(({ bytes }) => Buffer.from(bytes).toString());
        assert.deepEqual(textsOf(blocks), textsOf(fresh));
        assert.equal(textsOf(blocks).join(","), sorted.map(([, text]) => text).join(","));
      }),
      { numRuns: 300, seed: 12 },
    );
  });

  void it("make one block anew for a change, and leave a body made before as it was", () => {
    const blocks = new RowBlocks(Buffer.from("\n"), { blockRows: 32 });
    for (let at = 0; at < 5_000; at++) blocks.set(row(`r${String(at).padStart(5, "0")}`));
    const before = blocks.parts();
    assert.ok(before.length > 50, `${before.length} blocks`);
    blocks.set(row("r02500", "changed"));
    const after = blocks.parts();
    const same = after.filter((part) => before.includes(part));
    assert.equal(same.length, after.length - 1);
    const text = before.map(({ bytes }) => Buffer.from(bytes).toString()).join("\n");
    assert.ok(text.includes("r02500") && !text.includes("changed"));
  });
});

void describe("what a client takes and has", () => {
  void it("is chosen by quality", () => {
    const cases: readonly (readonly [string | undefined, string | undefined])[] = [
      [undefined, undefined],
      ["", undefined],
      ["gzip", "gzip"],
      ["gzip, zstd", "zstd"],
      ["zstd;q=0.5, gzip;q=0.8", "gzip"],
      ["gzip;q=0", undefined],
      ["*", "zstd"],
      ["*;q=0.1, zstd;q=0", "gzip"],
      ["identity, gzip;q=0.5", undefined],
      ["br", undefined],
      ["GZIP;Q=1", "gzip"],
      ["gzip;q=many", undefined],
    ];
    for (const [header, coding] of cases) assert.equal(chooseCoding(header), coding, header ?? "");
  });

  void it("is told by a tag of any coding, a list, a star, or a date in whole seconds", () => {
    const ask = (headers: Record<string, string>): boolean =>
      hasContent({ headers } as never, "abc-1", 1_700_000_000_900);
    for (const tags of ['"abc-1"', 'W/"abc-1"', '"x", "abc-1+gzip"', '"abc-1+zstd"', " * "]) {
      assert.equal(ask({ "if-none-match": tags }), true, tags);
    }
    for (const tags of ['"abc"', "abc-1", '"abc-1+br"', "", '"*"']) {
      assert.equal(ask({ "if-none-match": tags }), false, tags);
    }
    const date = (ms: number): Record<string, string> => ({
      "if-modified-since": new Date(ms).toUTCString(),
    });
    assert.equal(ask(date(1_700_000_000_000)), true);
    assert.equal(ask(date(1_699_999_999_000)), false);
    assert.equal(ask({ "if-none-match": '"old"', ...date(1_700_000_001_000) }), false);
    assert.equal(ask({ "if-modified-since": "yesterday" }), false);
  });
});
