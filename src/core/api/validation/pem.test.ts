/** PEM blocks: what counts as one, and that markers without end cost no more than other text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { looksLikeDer, pemBlocks } from "./pem.ts";

const block = (label: string, body: string): string =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

test("blocks are found between other text", () => {
  const text = `before\n${block("A", "MAAB")}between\n${block("B C", "eHh4")}`;
  assert.deepEqual(pemBlocks(text), [
    { label: "A", hasHeaders: false, body: "MAAB" },
    { label: "B C", hasHeaders: false, body: "eHh4" },
  ]);
  assert.deepEqual(pemBlocks(text).map(looksLikeDer), [true, false]);
});

test("a block that is not whole is skipped", () => {
  for (const broken of [
    "-----BEGIN A-----\nMAAB\n",
    "-----BEGIN A-----\nMAAB\n-----END B-----\n",
    "-----BEGIN A-----\nno base64!\n-----END A-----\n",
    "-----BEGIN A",
    "-----END A-----\n",
  ]) {
    assert.deepEqual(pemBlocks(broken), [], broken);
    assert.equal(pemBlocks(broken + block("X", "MAAB")).length, 1, broken);
  }
});

test("headers are seen", () => {
  const [only] = pemBlocks(block("A", "Proc-Type: 4,ENCRYPTED\n\nMAAB"));
  assert.deepEqual(only, { label: "A", hasHeaders: true, body: "MAAB" });
});

test("many markers are passed over once", () => {
  const open = "-----BEGIN A-----\n".repeat(150_000);
  assert.equal(pemBlocks(open).length, 0);
  assert.equal(pemBlocks(`${open}-----END A-----\n`).length, 1);
  assert.equal(pemBlocks("-----BEGIN ".repeat(250_000)).length, 0);
});
