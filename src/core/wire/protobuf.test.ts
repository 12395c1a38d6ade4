/** Text in protobuf messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtobufError, utf8 } from "./protobuf.ts";

test("a byte order mark is a character: the user of a review stays who it is", () => {
  assert.equal(utf8(Buffer.from("\ufeffadmin")), "\ufeffadmin");
});

test("bytes that are not UTF-8 are no text", () => {
  for (const bytes of [[0xf8], [0xc1, 0xa1], [0xed, 0xa0, 0x80]]) {
    assert.throws(() => utf8(Uint8Array.from(bytes)), ProtobufError);
  }
});
