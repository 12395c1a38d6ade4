/** The pure digest equals the host's. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { sha256Hex } from "./sha256.ts";

test("texts of every length around a block have the host's digest", () => {
  for (let length = 0; length < 200; length++) {
    const text = "aé".repeat(length).slice(0, length);
    assert.equal(sha256Hex(text), createHash("sha256").update(text).digest("hex"), `${length}`);
  }
});
