/** Which of a host's addresses others reach it by. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstReachable } from "./host-address.ts";

const address = (text: string, internal = false) => ({
  address: text,
  internal,
  family: text.includes(":") ? ("IPv6" as const) : ("IPv4" as const),
});

test("the first address that is neither loopback nor link-local is taken, IPv4 before IPv6", () => {
  const loopback = [address("127.0.0.1", true), address("::1", true)];
  const local = [address("169.254.1.2"), address("fe80::1"), address("febf::1")];
  assert.equal(firstReachable([...loopback, ...local]), undefined);
  const v6 = address("2001:db8::1");
  assert.equal(firstReachable([...loopback, ...local, v6]), "2001:db8::1");
  const v4 = [address("192.0.2.7"), address("198.51.100.1")];
  assert.equal(firstReachable([...loopback, v6, ...v4]), "192.0.2.7");
});
