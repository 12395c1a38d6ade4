/** How many connections there may be, in all and of one peer, however its address is written. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import type { Log } from "#platform/log.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { ConnectionGate, type GateLimits } from "./connection-gate.ts";

let port = 0;

class Peer extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort = ++port;
  destroyed = false;

  constructor(address: string) {
    super();
    this.remoteAddress = address;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }

  get socket(): Socket {
    return this as unknown as Socket; // all that the gate looks at
  }
}

function gateOf(limits: Partial<GateLimits>, log: Log = silentLog) {
  const clock = new FakeClock();
  const all = { connectionsMax: 100, connectionsPerAddressMax: 100, ...limits };
  const gate = new ConnectionGate({ clock, log }, all);
  const come = (address: string): Peer => {
    const peer = new Peer(address);
    gate.admit(peer.socket);
    return peer;
  };
  return { clock, gate, come };
}

test("connections are admitted up to the total, whoever makes them; one that ends makes room", () => {
  const { come } = gateOf({ connectionsMax: 3 });
  const first = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(come);
  assert.ok(first.every(({ destroyed }) => !destroyed));
  assert.ok(come("192.0.2.4").destroyed);
  // A refused one made no room when it closed.
  assert.ok(come("192.0.2.4").destroyed);
  first[0]?.destroy();
  assert.ok(!come("192.0.2.4").destroyed);
  assert.ok(come("192.0.2.5").destroyed);
});

test("an address has its share, the same in the form of IPv6; its neighbour has another", () => {
  const { come } = gateOf({ connectionsPerAddressMax: 2 });
  const first = come("192.0.2.1");
  assert.ok(!come("::ffff:192.0.2.1").destroyed);
  assert.ok(come("192.0.2.1").destroyed);
  assert.ok(come("::FFFF:192.0.2.1").destroyed);
  assert.ok(!come("::ffff:192.0.2.2").destroyed);
  first.destroy();
  assert.ok(!come("::ffff:192.0.2.1").destroyed);
  assert.ok(come("192.0.2.1").destroyed);
});

test("of IPv6 the network of 64 bits has its share, however its addresses are shortened", () => {
  const { come } = gateOf({ connectionsPerAddressMax: 2 });
  for (const address of ["2001:db8:0:1::1", "2001:db8:0:1:ffff:2:3:4"]) {
    assert.ok(!come(address).destroyed, address);
  }
  for (const address of ["2001:db8:0:1::2", "2001:db8::1:0:0:0:5", "2001:db8:0:1:9::"]) {
    assert.ok(come(address).destroyed, address);
  }
  for (const address of ["2001:db8:0:2::1", "2001:db8::1", "::1"]) {
    assert.ok(!come(address).destroyed, address);
  }
});

test("the end takes along those that nobody serves yet, and no others", () => {
  const { gate, come } = gateOf({});
  const [waiting, served, gone] = ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map(come);
  gate.served((served as Peer).socket);
  gone?.emit("close");
  gate.close();
  assert.deepEqual(
    [waiting, served, gone].map((peer) => peer?.destroyed),
    [true, false, false],
  );
});

test("refusals are said once a second, with the counts", async () => {
  const said: object[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => void said.push(fields ?? {}) };
  const { clock, come } = gateOf({ connectionsPerAddressMax: 1 }, log);
  come("192.0.2.1");
  for (let at = 0; at < 5; at++) come("192.0.2.1");
  assert.deepEqual(said, [{ peer: "192.0.2.1", connections: 1, ofThatPeer: 1 }]);
  await clock.advance(1_000);
  come("192.0.2.1");
  assert.equal(said.length, 2);
});
