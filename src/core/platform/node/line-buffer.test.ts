/** Whose lines give way when a log's buffer is full, and that what remains is whole and in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LineBuffer, type LineWriter } from "./line-buffer.ts";

const alice: LineWriter = { name: "alice", isStranger: false };
const bob: LineWriter = { name: "bob", isStranger: false };
const nobody: LineWriter = { name: "192.0.2.1", isStranger: true };
const nobodyElse: LineWriter = { name: "192.0.2.2", isStranger: true };

/** Lines of ten bytes each. */
function filled(linesMax: number): {
  buffer: LineBuffer;
  put: (text: string, writer: LineWriter) => boolean;
  lost: string[];
  all: () => readonly string[];
} {
  const buffer = new LineBuffer(linesMax * 10);
  const lost: string[] = [];
  return {
    buffer,
    lost,
    put: (text, writer) =>
      buffer.push(Buffer.from(`${text.padEnd(9)}\n`), writer, (of) => lost.push(of.name)),
    all: () =>
      buffer
        .chunk(1e6)
        .toString()
        .split("\n")
        .slice(0, -1)
        .map((line) => line.trim()),
  };
}

test("a line of somebody takes the place of a line without credentials, the newest first", () => {
  const { put, lost, all } = filled(3);
  for (const text of ["n1", "n2", "n3"]) assert.equal(put(text, nobody), true);
  assert.equal(put("a1", alice), true);
  assert.equal(put("a2", alice), true);
  assert.deepEqual(lost, [nobody.name, nobody.name]);
  assert.deepEqual(all(), ["n1", "a1", "a2"]);
});

test("a request without credentials takes no place of somebody", () => {
  const { put, lost, all } = filled(2);
  put("a1", alice);
  put("a2", alice);
  assert.equal(put("n1", nobody), false);
  assert.deepEqual(lost, []);
  assert.deepEqual(all(), ["a1", "a2"]);
});

test("among equals, the one who holds most loses the newest line, the writer too", () => {
  const { put, lost, all } = filled(4);
  for (const text of ["a1", "a2", "a3", "a4"]) put(text, alice);
  assert.equal(put("a5", alice), false, "her own line is the newest");
  assert.equal(put("b1", bob), true);
  assert.equal(put("b2", bob), true);
  assert.equal(put("b3", bob), false, "both hold the same");
  assert.deepEqual(lost, ["alice", "alice"]);
  assert.deepEqual(all(), ["a1", "a2", "b1", "b2"]);
});

test("addresses without credentials share what there is", () => {
  const { put, lost, all } = filled(2);
  put("n1", nobody);
  put("n2", nobody);
  assert.equal(put("e1", nobodyElse), true);
  assert.equal(put("e2", nobodyElse), false, "both hold the same");
  assert.deepEqual(lost, [nobody.name]);
  assert.deepEqual(all(), ["n1", "e1"]);
});

test("what is part of a write stays, and the rest of a line written in part follows first", () => {
  const { buffer, put, all } = filled(3);
  for (const text of ["n1", "n2", "n3"]) put(text, nobody);
  assert.equal(buffer.chunk(20).toString(), "n1       \nn2       \n");
  assert.equal(put("a1", alice), true, "n3 waits, and gives way");
  assert.equal(put("a2", alice), false, "n1 and n2 are being written, a1 is her own");
  buffer.take(13);
  assert.equal(put("a2", alice), true, "there is room, or n2 had to give way");
  assert.deepEqual(all(), ["", "a1", "a2"]);
});

test("after a write that failed its lines can give way again, but not the rest of a torn one", () => {
  const { buffer, put, all } = filled(3);
  for (const text of ["n1", "n2", "n3"]) put(text, nobody);
  buffer.chunk(30);
  buffer.take(3);
  buffer.chunk(30);
  assert.equal(put("a1", alice), false, "all is being written");
  buffer.take(0);
  for (const text of ["a1", "a2"]) assert.equal(put(text, alice), true);
  assert.deepEqual(all(), ["", "a1", "a2"]);
});

test("bytes stay counted through a flood that always gives way", () => {
  const { buffer, put } = filled(200);
  for (let index = 0; index < 200; index++) put(`n${index}`, nobody);
  for (let index = 0; index < 200; index++) put(`a${index}`, alice);
  for (let index = 0; index < 5_000; index++) put("x", nobody);
  assert.equal(buffer.bytes, 2_000);
  assert.equal(buffer.chunk(1e6).length, 2_000);
  buffer.take(2_000);
  assert.equal(buffer.bytes, 0);
  assert.equal(buffer.chunk(1e6).length, 0);
});
