/** Bodies that come in pieces: what is kept of them, what is charged, and where reading ends. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { roomyLedger } from "../../testing/roomy-ledger.ts";
import { BodyPieces } from "./body-pieces.ts";
import { streamBody } from "./http-body.ts";

test("a body that comes byte by byte is a few pieces at any time, and whole at the end", () => {
  const text = Array.from({ length: 20_000 }, (_, at) => String(at % 10)).join("");
  const pieces = new BodyPieces();
  let most = 0;
  for (const byte of Buffer.from(text)) {
    pieces.add(Buffer.from([byte]));
    most = Math.max(most, pieces.count);
  }
  assert.equal(Buffer.from(pieces.joined()).toString(), text);
  assert.ok(most < 40, `${most} pieces`);
});

test("pieces of a usual size are kept as they are", () => {
  const pieces = new BodyPieces();
  for (const length of [1_400, 1_400, 1_400]) pieces.add(new Uint8Array(length));
  assert.equal(pieces.count, 3);
  const one = new BodyPieces();
  const given = new Uint8Array(1_400);
  one.add(given);
  assert.equal(one.joined(), given);
  assert.equal(new BodyPieces().joined().length, 0);
});

test("what arrives is charged, and reading ends where its caller may hold no more", async () => {
  const ledger = roomyLedger({ callerBytesMax: 1_000, smallBytesMax: 0 });
  const holding = ledger.open("user:ann");
  const source = new PassThrough();
  const body = streamBody(source, undefined, () => undefined);
  assert.equal(body.kind, "bytes");
  const read = body.kind === "bytes" ? body.read(10_000, holding) : undefined;
  source.write(new Uint8Array(600));
  source.write(new Uint8Array(600));
  assert.equal(await read, "refused");
  assert.equal(ledger.held("body"), 600);
  holding.close();
  assert.equal(ledger.bytes, 0);
  source.destroy();
});
