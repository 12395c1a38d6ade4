/** Which addresses lead back into this process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OwnAddresses } from "./own-addresses.ts";

const own = new OwnAddresses(() => ["127.0.0.1", "172.30.99.1", "fd00::5", "fe80::1%eth0"]);
own.addPort(6443);
own.addRoute("10.96.0.1", 443);
own.addRoute("203.0.113.7", 6444);
own.addRoute("not.an.address", 6445);

test("every address of this machine leads to its ports, in any spelling", () => {
  const addresses = [
    "172.30.99.1",
    "::ffff:172.30.99.1",
    "::ffff:ac1e:6301",
    "0:0:0:0:0:ffff:ac1e:6301",
    "127.0.0.1",
    "127.9.9.9",
    "::ffff:127.0.0.1",
    "0.0.0.0",
    "::",
    "::1",
    "fd00::5",
    "FD00:0:0::0:5",
    "fe80::1",
    "fe80::1%eth1",
  ];
  for (const address of addresses) assert.equal(own.has(address, 6443), true, address);
});

test("other ports, and other machines, do not", () => {
  assert.equal(own.has("172.30.99.1", 10_250), false);
  for (const address of ["172.30.99.2", "fd00::6", "::ffff:172.30.99.2", "10.96.0.1", ""])
    assert.equal(own.has(address, 6443), false, address);
});

test("what is routed to them does", () => {
  assert.equal(own.has("10.96.0.1", 443), true);
  assert.equal(own.has("::ffff:10.96.0.1", 443), true);
  assert.equal(own.has("203.0.113.7", 6444), true);
  assert.equal(own.has("203.0.113.7", 443), false);
  assert.equal(own.has("127.0.0.1", 443), false);
  assert.equal(own.has("localhost", 6443), false);
});
