/** IPv4 addresses are read strictly and written back the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ipv4Text, parseIpv4 } from "./ipv4.ts";

test("a dotted address is its number, and the number is the address again", () => {
  for (const [text, address] of [
    ["0.0.0.0", 0],
    ["10.96.0.1", 174_063_617],
    ["255.255.255.255", 2 ** 32 - 1],
  ] as const) {
    assert.equal(parseIpv4(text), address);
    assert.equal(ipv4Text(address), text);
  }
});

test("leading zeros, signs, spaces, short and long forms are no addresses", () => {
  for (const text of [
    "010.0.0.1",
    "1.2.3",
    "1.2.3.4.5",
    "256.0.0.1",
    "1.2.3.-4",
    "+1.2.3.4",
    " 1.2.3.4",
    "1..2.3",
    "1e1.0.0.1",
    "0x1.0.0.1",
    "::1",
    "",
  ]) {
    assert.equal(parseIpv4(text), undefined, JSON.stringify(text));
  }
});
