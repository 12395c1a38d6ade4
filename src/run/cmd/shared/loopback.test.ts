/** A listener is near only when each address that its host means is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback } from "./loopback.ts";
import { UsageError } from "./usage-error.ts";

function near(...addresses: string[]): Promise<boolean> {
  const resolve = () => Promise.resolve(addresses.map((address) => ({ address })));
  return isLoopback("store.example", "--listen", resolve);
}

test("a name that means a near and a far address is far, in whatever order they come", async () => {
  assert.equal(await near("127.0.0.1", "192.0.2.1"), false);
  assert.equal(await near("192.0.2.1", "127.0.0.1"), false);
  assert.equal(await near("::1", "2001:db8::1"), false);
  assert.equal(await near("127.0.0.1", "::1", "::ffff:127.0.0.2"), true);
});

test("an IPv4 address in the form of IPv6 is as near as it is in its own", async () => {
  for (const address of ["::ffff:127.0.0.1", "::ffff:7f00:1", "::FFFF:127.255.255.254"]) {
    assert.equal(await near(address), true, address);
    assert.equal(await isLoopback(address, "--listen"), true, address);
  }
  // The neighbours of 127.0.0.0/8, and forms that only look like it.
  for (const address of [
    "::ffff:126.255.255.255",
    "::ffff:128.0.0.0",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::127.0.0.1",
    "::2",
  ]) {
    assert.equal(await near(address), false, address);
  }
});

test("a name without an address is refused, not taken for near", async () => {
  await assert.rejects(near(), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /^--listen: the host store\.example has no address \(ENODATA\)$/);
    return true;
  });
});
