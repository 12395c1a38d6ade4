/**
 * The store's HTTP/2 under peers that mean ill: whatever they send, byte by byte, costs them their
 * connection or their call, costs the store little time and memory, and does not keep an honest
 * client on another connection from being served.
 *
 * The floods run against a store in a process of its own, whose CPU time and memory it tells itself;
 * deadlines and totals against one in this process, with limits that are reached soon.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { get } from "node:https";
import { connect } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startOurs, type OurOptions } from "#etcd/testing/servers.ts";
import { listenEtcd, recommendedServerLimits } from "#etcd/server.ts";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { ErrorCode, preface } from "#wire/grpc-frames.ts";
import * as m from "#wire/etcd-messages.ts";
import { startStore, type RunningStore } from "../process/store-harness.ts";
import {
  data,
  frame,
  grpcHead,
  hello,
  literal,
  noPayload,
  RawPeer,
  setting,
  uint32,
} from "./raw-peer.ts";

const mebibyte = 2 ** 20;
const putPath = "/etcdserverpb.KV/Put";
const rangePath = "/etcdserverpb.KV/Range";
const watchPath = "/etcdserverpb.Watch/Watch";
const keepAlivePath = "/etcdserverpb.Lease/LeaseKeepAlive";
const put = m.putRequest.encode({ key: "flood", value: Buffer.alloc(100) }, 0);

const repeat = (count: number, one: Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => one));

// A store in a process of its own.

let store: RunningStore;
let honest: EtcdClient;

before(async () => {
  store = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
  honest = new EtcdClient(store.url);
});
after(async () => {
  honest.close();
  await store.kill();
});

async function used(): Promise<{ readonly cpuMs: number; readonly rssMiB: number }> {
  const text = await (await fetch(`${store.url}/metrics`)).text();
  const of = (name: string): number =>
    Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return {
    cpuMs: of("process_cpu_seconds_total") * 1000,
    rssMiB: of("process_resident_memory_bytes") / mebibyte,
  };
}

/** Runs it while an honest client puts without end; what it cost the store, with those puts. */
async function attack(
  t: TestContext,
  most: { readonly cpuMs: number; readonly rssMiB: number },
  run: (peer: RawPeer) => Promise<void>,
): Promise<void> {
  const peer = await RawPeer.connect(store.url);
  const before = await used();
  let going = true;
  let served = 0;
  const client = (async () => {
    for (; going; served++) {
      await honest.put({ key: "honest" });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  try {
    await run(peer);
    // One that begins only now.
    await honest.put({ key: "after" });
  } finally {
    going = false;
    await client;
    await peer.end();
  }
  const now = await used();
  const cost = { cpuMs: now.cpuMs - before.cpuMs, rssMiB: now.rssMiB - before.rssMiB };
  t.diagnostic(`${cost.cpuMs.toFixed(0)} ms of CPU, ${cost.rssMiB.toFixed(0)} MiB, ${served} puts`);
  assert.ok(served > 0, "the honest client was not served");
  assert.ok(cost.cpuMs < most.cpuMs, `${cost.cpuMs} ms of CPU`);
  assert.ok(cost.rssMiB < most.rssMiB, `${cost.rssMiB} MiB`);
}

async function flood(peer: RawPeer, times: number, bytes: Buffer): Promise<void> {
  for (let i = 0; i < times && !peer.isClosed; i++) await peer.send(bytes);
}

test("a header block in many pieces, or in empty ones, is cut off", async (t) => {
  for (const piece of [Buffer.of(0x83), noPayload]) {
    await attack(t, { cpuMs: 250, rssMiB: 60 }, async (peer) => {
      const large = frame(9, 0, 1, Buffer.alloc(16_000, 0x83));
      await peer.send(hello, frame(1, 1, 1, Buffer.alloc(16_000, 0x83)), large, large);
      await flood(peer, 50, repeat(2000, frame(9, 0, 1, piece)));
      assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
    });
  }
});

test("a header block that expands to more than the announced list is cut off", async (t) => {
  await attack(t, { cpuMs: 150, rssMiB: 60 }, async (peer) => {
    // One entry of 4 KB, and then 60,000 references to it of a byte each.
    const entry = Buffer.concat([
      Buffer.of(0x40, 1),
      Buffer.from("a"),
      // 4000, as 127 and the rest in two bytes.
      Buffer.of(0x7f, 0xa1, 0x1e),
      Buffer.alloc(4000, "v"),
    ]);
    const block = Buffer.concat([entry, Buffer.alloc(56_000, 0xbe)]);
    await peer.send(hello, frame(1, 1, 1, block.subarray(0, 16_000)));
    for (let at = 16_000; at < block.length; at += 16_000) {
      const last = at + 16_000 >= block.length;
      await peer.send(frame(9, last ? 4 : 0, 1, block.subarray(at, at + 16_000)));
    }
    assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
  });
});

test("a header table is resized before a block's first field, twice, and to what was announced", async () => {
  const fields = Buffer.of(0x82, 0x84, 0x86);
  const blocks = [
    Buffer.concat([fields, Buffer.of(0x20)]),
    Buffer.concat([Buffer.of(0x20, 0x3f, 0xe1, 0x1f, 0x20), fields]),
    Buffer.concat([Buffer.of(0x3f, 0xe2, 0x1f), fields]),
  ];
  for (const block of blocks) {
    const peer = await RawPeer.connect(store.url);
    await peer.send(hello, frame(1, 5, 1, block));
    assert.equal(await peer.goaway(), ErrorCode.compression);
  }
  const peer = await RawPeer.connect(store.url);
  await peer.send(
    hello,
    frame(1, 5, 1, Buffer.concat([Buffer.of(0x20, 0x3f, 0xe1, 0x1f), fields])),
  );
  await peer.trailers(1);
  await peer.end();
});

test("calls reset as soon as they are made are cut off after a thousand", async (t) => {
  await attack(t, { cpuMs: 500, rssMiB: 100 }, async (peer) => {
    await peer.send(hello);
    const head = grpcHead(putPath);
    for (let id = 1; id < 100_000 && !peer.isClosed;) {
      const calls: Buffer[] = [];
      for (let i = 0; i < 500; i++, id += 2) {
        calls.push(frame(1, 4, id, head), data(id, put), frame(3, 0, id, uint32(8)));
      }
      await peer.send(...calls);
    }
    assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
  });
});

test("streams that the store is made to reset count as resets", async (t) => {
  await attack(t, { cpuMs: 500, rssMiB: 100 }, async (peer) => {
    await peer.send(hello);
    const malformed = Buffer.concat([grpcHead(putPath), literal("connection", "close")]);
    for (let id = 1; id < 40_000 && !peer.isClosed;) {
      const calls: Buffer[] = [];
      for (let i = 0; i < 500; i++, id += 2) calls.push(frame(1, 4, id, malformed));
      await peer.send(...calls);
    }
    assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
    assert.equal(await peer.reset(1), ErrorCode.protocol);
  });
});

test("160 messages of 2 MB that are not finished take what one connection may, and no more", async (t) => {
  await attack(t, { cpuMs: 3000, rssMiB: 240 }, async (peer) => {
    await peer.send(hello);
    const head = grpcHead(putPath);
    const first = Buffer.concat([Buffer.of(0), uint32(2 * mebibyte - 100)]);
    const rest = repeat(126, frame(0, 0, 1, Buffer.alloc(16_384)));
    for (let id = 1; id < 320; id += 2) {
      for (let at = 0; at < rest.length; at += 16_384 + 9) rest.writeUInt32BE(id, at + 5);
      await peer.send(frame(1, 4, id, head), frame(0, 0, id, first), rest);
    }
    await peer.settled();
    const refused = peer.frames.filter(({ payload }) =>
      payload.includes("a connection's unfinished messages take at most"),
    );
    assert.ok(refused.length > 100, `${refused.length} refused`);
    assert.ok(refused.every(({ payload }) => payload.includes("grpc-status\u00018")));
    assert.equal(peer.isClosed, false);
  });
});

test("a message in frames of a byte, of none, or of padding alone is cut off", async (t) => {
  const padded = Buffer.concat([Buffer.of(200), Buffer.alloc(200)]);
  for (const [flags, payload] of [
    [0, Buffer.of(1)],
    [0, noPayload],
    [8, padded],
  ] as const) {
    await attack(t, { cpuMs: 300, rssMiB: 80 }, async (peer) => {
      const first = Buffer.concat([Buffer.of(0), uint32(2 * mebibyte - 100)]);
      await peer.send(hello, frame(1, 4, 1, grpcHead(putPath)), frame(0, 0, 1, first));
      await flood(peer, 100, repeat(5000, frame(0, flags, 1, payload)));
      assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
    });
  }
});

test("pings, settings, priorities, acknowledgements and unknown frames without end are cut off", async (t) => {
  const priority = frame(2, 0, 1, Buffer.of(0, 0, 0, 3, 16));
  const floods = {
    pings: frame(6, 0, 0, Buffer.alloc(8, 3)),
    "bandwidth pings": frame(6, 0, 0, Buffer.of(2, 4, 16, 16, 9, 14, 7, 7)),
    "answers to pings": frame(6, 1, 0, Buffer.alloc(8)),
    settings: frame(4, 0, 0),
    acknowledgements: frame(4, 1, 0),
    priorities: priority,
    "unknown frames": frame(99, 0, 0),
    "window updates": frame(8, 0, 0, uint32(1)),
  };
  for (const [what, one] of Object.entries(floods)) {
    await attack(t, { cpuMs: 300, rssMiB: 60 }, async (peer) => {
      await peer.send(hello);
      await flood(peer, 100, repeat(5000, one));
      assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm, what);
    });
  }
});

test("pings by a peer that never reads do not pile up", async (t) => {
  await attack(t, { cpuMs: 400, rssMiB: 60 }, async (peer) => {
    peer.socket.pause();
    await peer.send(hello);
    await flood(peer, 100, repeat(5000, frame(6, 0, 0, Buffer.alloc(8, 3))));
    peer.socket.resume();
    await peer.closed;
  });
});

test("settings that change every stream's window are applied once a frame, and are cut off", async (t) => {
  await attack(t, { cpuMs: 1500, rssMiB: 120 }, async (peer) => {
    await peer.send(hello);
    const head = grpcHead(watchPath);
    for (let id = 1; id < 19_000;) {
      const calls: Buffer[] = [];
      for (let i = 0; i < 500; i++, id += 2) calls.push(frame(1, 4, id, head));
      await peer.send(...calls);
    }
    const payload = Buffer.concat(
      Array.from({ length: 2730 }, (_, i) => setting(4, 65_535 + (i % 2)).subarray(9)),
    );
    for (let i = 0; i < 100 && !peer.isClosed; i++) {
      payload.writeUInt32BE(1000 + i, payload.length - 4);
      await peer.send(frame(4, 0, 0, payload));
    }
    assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
  });
});

test("answers let out byte by byte are cut off, whatever else waits for the window", async (t) => {
  await honest.put({ key: "big", value: Buffer.alloc(mebibyte) });
  await attack(t, { cpuMs: 800, rssMiB: 200 }, async (peer) => {
    await peer.send(hello, setting(4, 0x7fff_ffff));
    const range = m.rangeRequest.encode({ key: "big" }, 0);
    for (let id = 1; id < 80; id += 2) {
      await peer.send(frame(1, 4, id, grpcHead(rangePath)), data(id, range));
    }
    await flood(peer, 20, repeat(5000, frame(8, 0, 0, uint32(1))));
    assert.equal(await peer.goaway(), ErrorCode.enhanceYourCalm);
  });
});

test("answers of 1 GB that their peer does not take are not made", async (t) => {
  for (let i = 0; i < 10; i++) {
    await honest.put({ key: `x${i}`, value: Buffer.alloc(mebibyte) });
  }
  await attack(t, { cpuMs: 1500, rssMiB: 250 }, async (peer) => {
    await peer.send(hello, setting(4, 0));
    const range = m.rangeRequest.encode({ key: "x", rangeEnd: "y" }, 0);
    for (let id = 1; id < 200; id += 2) {
      await peer.send(frame(1, 4, id, grpcHead(rangePath)), data(id, range));
    }
    await peer.settled();
  });
});

test("what breaks HTTP/2 ends its stream or its connection with the code that it has for that", async () => {
  const open = frame(1, 4, 1, grpcHead(watchPath));
  const length = [Buffer.of(0, 14), Buffer.from("content-length"), Buffer.of(1), Buffer.from("5")];
  const lengthHead = Buffer.concat([grpcHead(putPath), ...length]);
  const resets: [string, number, Buffer[]][] = [
    [
      "a stream's window too large",
      ErrorCode.flowControl,
      [open, frame(8, 0, 1, uint32(0x7fff_ffff))],
    ],
    ["a stream's window update of nothing", ErrorCode.protocol, [open, frame(8, 0, 1, uint32(0))]],
    [
      "data of a closed stream",
      ErrorCode.streamClosed,
      [open, frame(3, 0, 1, uint32(8)), data(1, put)],
    ],
    ["data after the end", ErrorCode.streamClosed, [open, frame(0, 1, 1), data(1, put)]],
    ["a malformed head", ErrorCode.protocol, [frame(1, 5, 1, Buffer.of(0x82))]],
    ["a length of what does not come", ErrorCode.protocol, [frame(1, 5, 1, lengthHead)]],
  ];
  for (const [what, code, frames] of resets) {
    const peer = await RawPeer.connect(store.url);
    await peer.send(hello, ...frames);
    assert.equal(await peer.reset(1), code, what);
    await peer.end();
  }
  const goaways: [string, number, Buffer[]][] = [
    ["a window too large", ErrorCode.flowControl, [frame(8, 0, 0, uint32(0x7fff_ffff))]],
    ["headers of a closed stream", ErrorCode.streamClosed, [open, frame(3, 0, 1, uint32(8)), open]],
    ["a reset of no stream", ErrorCode.protocol, [frame(3, 0, 9, uint32(8))]],
    ["an initial window too large", ErrorCode.flowControl, [setting(4, 0x8000_0000)]],
    ["a ping of a stream", ErrorCode.protocol, [frame(6, 0, 1, Buffer.alloc(8))]],
    ["a push", ErrorCode.protocol, [frame(5, 4, 1, Buffer.alloc(8))]],
  ];
  for (const [what, code, frames] of goaways) {
    const peer = await RawPeer.connect(store.url);
    await peer.send(hello, ...frames);
    assert.equal(await peer.goaway(), code, what);
  }
  const early = await RawPeer.connect(store.url);
  await early.send(preface, open);
  assert.equal(await early.goaway(), ErrorCode.protocol, "no SETTINGS first");
});

// A store in this process.

async function begin(t: TestContext, options: OurOptions["server"] = {}) {
  const server = await startOurs("memory", { server: options });
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  const peer = async (...first: readonly Buffer[]): Promise<RawPeer> => {
    const one = await RawPeer.connect(server.url);
    t.after(() => one.end());
    await one.send(...first);
    return one;
  };
  return { server, client, peer };
}

test("a connection that does not say what it speaks, or not all of it, is closed", async (t) => {
  const { peer, client } = await begin(t, { headMs: 200 });
  const silent = [
    noPayload,
    preface.subarray(0, 5),
    preface.subarray(0, 20),
    preface,
    Buffer.concat([preface, Buffer.alloc(5)]),
    Buffer.from("GET /health HTTP/1.1\r\nHost: a\r\n"),
    Buffer.from("POST /health HTTP/1.1\r\nHost: a\r\ncontent-length: 9\r\n\r\n1"),
  ];
  const peers = await Promise.all(silent.map((bytes) => peer(bytes)));
  // Bytes that trickle in do not make the time longer.
  const slow = await peer();
  const drip = setInterval(() => slow.socket.write(preface.subarray(at, ++at)), 50);
  let at = 0;
  await Promise.all([...peers, slow].map((one) => one.closed));
  clearInterval(drip);
  await client.put({ key: "k" });
});

test("a header block or frame that is not finished ends the connection; a slow whole one does not", async (t) => {
  const { peer } = await begin(t, { headMs: 200 });
  const head = grpcHead(putPath);
  const unfinished = [
    frame(1, 0, 1, head),
    Buffer.concat([frame(1, 0, 1, head), frame(9, 0, 1, Buffer.of(0x83))]),
    frame(1, 4, 1, head).subarray(0, 12),
    Buffer.concat([frame(1, 4, 1, head), data(1, put).subarray(0, 20)]),
  ];
  for (const bytes of unfinished) {
    const one = await peer(hello, bytes);
    assert.equal(await one.goaway(), ErrorCode.enhanceYourCalm);
  }
  const whole = await peer(hello, frame(1, 4, 1, head));
  const message = data(1, put);
  for (let at = 0; at < message.length; at += 40) {
    await whole.send(message.subarray(at, at + 40));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.match((await whole.trailers(1)) ?? "", /grpc-status=0/);
});

test("a message that does not come in time ends its call, and no other", async (t) => {
  const { peer } = await begin(t, { messageMs: 200 });
  const one = await peer(hello, frame(1, 4, 1, grpcHead(putPath)));
  const watch = frame(1, 4, 3, grpcHead(watchPath));
  await one.send(watch, frame(0, 0, 3, Buffer.of(0, 0, 0)));
  await one.send(frame(1, 4, 5, grpcHead(keepAlivePath)));
  for (const id of [1, 3]) {
    const trailers = await one.trailers(id);
    assert.match(trailers ?? "", /grpc-status=4.*did not arrive within 0\.2 s/s);
  }
  // A stream without a message is idle, not slow.
  await one.settled();
  assert.equal(
    one.frames.some(({ type, flags, stream }) => type === 1 && flags & 1 && stream === 5),
    false,
  );
});

test("of all unfinished messages the oldest gives way, and an honest one is taken", async (t) => {
  const { peer, client } = await begin(t, { messageRoomTotalBytesMax: 4 * mebibyte });
  const begun = Buffer.concat([Buffer.of(0), uint32(2 * mebibyte - 100), Buffer.alloc(16_000)]);
  const more = repeat(80, frame(0, 0, 1, Buffer.alloc(16_000)));
  const peers: RawPeer[] = [];
  for (let i = 0; i < 6; i++) {
    const one = await peer(hello, frame(1, 4, 1, grpcHead(putPath)), frame(0, 0, 1, begun), more);
    await one.settled();
    peers.push(one);
  }
  const trailers = await peers[0]?.trailers(1);
  assert.match(trailers ?? "", /grpc-status=8.*all unfinished messages take at most 4194304/s);
  await client.put({ key: "k", value: Buffer.alloc(1.4 * mebibyte) });
});

test("streams have a total; each connection gets its few whatever the others have open", async (t) => {
  const { peer, client } = await begin(t, { streamsMax: 50, streamsReserved: 4 });
  const opened = (ids: readonly number[]): Buffer =>
    Buffer.concat(ids.map((id) => frame(1, 4, id, grpcHead(watchPath))));
  const ids = Array.from({ length: 60 }, (_, i) => 2 * i + 1);
  const greedy = await peer(hello, opened(ids));
  assert.equal(await greedy.reset(101), ErrorCode.refusedStream);
  const modest = await peer(hello, opened([1, 3, 5, 7, 9]));
  assert.equal(await modest.reset(9), ErrorCode.refusedStream);
  assert.equal(modest.frames.filter(({ type }) => type === 3).length, 1);
  await client.put({ key: "k" });
  await greedy.end();
  // Its streams are free again.
  for (let id = 11; ; id += 2) {
    await modest.send(frame(1, 4, id, grpcHead(watchPath)));
    await modest.settled();
    if (!modest.frames.some(({ type, stream }) => type === 3 && stream === id)) break;
  }
});

test("requests that run have a total; beyond it a connection gets one at a time, and others theirs", async (t) => {
  const { peer, client } = await begin(t, { runningTotalBytesMax: 1 });
  const calls = [1, 3].map((id) =>
    Buffer.concat([frame(1, 4, id, grpcHead(putPath)), data(id, put)]),
  );
  // In one piece: the first still runs when the second is looked at.
  const greedy = await peer(Buffer.concat([hello, ...calls]));
  assert.match((await greedy.trailers(1)) ?? "", /grpc-status=0/);
  assert.match((await greedy.trailers(3)) ?? "", /grpc-status=8.*too many requests/s);
  await client.put({ key: "k" });
  // What was answered is not counted any more.
  await greedy.send(frame(1, 4, 7, grpcHead(putPath)), data(7, put));
  assert.match((await greedy.trailers(7)) ?? "", /grpc-status=0/);
});

test("connections have a total per address; one that ends makes room", async (t) => {
  const { peer, client, server } = await begin(t, { connectionsPerAddressMax: 3 });
  await client.put({ key: "k" });
  const [first] = [await peer(hello), await peer(hello)];
  const one = connect(Number(new URL(server.url).port), "127.0.0.1");
  one.on("error", () => undefined);
  await new Promise((resolve) => one.on("close", resolve));
  // The next address is another peer.
  const other = connect({
    port: Number(new URL(server.url).port),
    host: "127.0.0.1",
    localAddress: "127.0.0.2",
  });
  other.on("error", () => undefined);
  other.write(hello);
  await new Promise((resolve) => other.once("data", resolve));
  other.destroy();
  await first?.end();
  for (;;) {
    const again = await peer(hello);
    if ((await again.next(({ type }) => type === 4)) !== undefined) break;
  }
  await client.put({ key: "k" });
});

test("a peer that takes nothing of what it asked for is ended; in all, the one that took nothing for longest", async (t) => {
  const stalls = await begin(t, { unreadBytesMax: mebibyte, stallMs: 200 });
  await stalls.client.put({ key: "k", value: Buffer.alloc(mebibyte) });
  const range = m.rangeRequest.encode({ key: "k" }, 0);
  const ask = (id: number): Buffer =>
    Buffer.concat([frame(1, 4, id, grpcHead(rangePath)), data(id, range)]);
  const shut = [hello, setting(4, 0), ask(1), ask(3), ask(5)];
  const stalled = await stalls.peer(...shut);
  assert.equal(await stalled.goaway(), ErrorCode.enhanceYourCalm);
  await stalls.client.put({ key: "k" });

  const many = await begin(t, { unreadTotalBytesMax: 5 * mebibyte });
  await many.client.put({ key: "k", value: Buffer.alloc(mebibyte) });
  const first = await many.peer(...shut);
  await first.settled();
  const second = await many.peer(...shut);
  assert.equal(await first.goaway(), ErrorCode.enhanceYourCalm);
  await second.settled();
  assert.equal(second.isClosed, false);
  assert.equal((await many.client.range({ key: "k" })).count, 1);
});

test("calls beyond what a peer takes wait, and are answered once it has", async (t) => {
  const { peer, client } = await begin(t, { unreadBytesMax: 1.5 * mebibyte });
  await client.put({ key: "k", value: Buffer.alloc(mebibyte) });
  const range = m.rangeRequest.encode({ key: "k" }, 0);
  const one = await peer(hello, setting(4, 0));
  const ids = [1, 3, 5, 7];
  for (const id of ids) await one.send(frame(1, 4, id, grpcHead(rangePath)), data(id, range));
  await one.settled();
  assert.equal(one.frames.filter(({ type, stream }) => type === 1 && stream > 0).length, 2);
  await one.send(frame(8, 0, 0, uint32(100 * mebibyte)), setting(4, 2 * mebibyte));
  for (const id of ids) assert.match((await one.trailers(id)) ?? "", /grpc-status=0/);
});

test("a stream whose client asks and does not read the answers is ended", async (t) => {
  const { peer, client } = await begin(t);
  const one = await peer(hello, setting(4, 0), frame(1, 4, 1, grpcHead(keepAlivePath)));
  const alive = data(1, m.leaseKeepAliveRequest.encode({ id: 7n }, 0), 0);
  await client.grant(600, 7n);
  await flood(one, 6, repeat(2000, alive));
  // Its trailers wait behind the answers, and so the window is opened for them.
  await one.send(frame(8, 0, 0, uint32(100 * mebibyte)), setting(4, 10 * mebibyte));
  const trailers = await one.trailers(1);
  assert.match(trailers ?? "", /grpc-status=8.*the stream's answers are not read/s);
});

test("a TLS handshake that is not finished is closed, and counts as a connection until then", async (t) => {
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - 86_400_000, notAfterMs: nowMs + 86_400_000 };
  const issue = { validity, serial: randomBytes(16) };
  const authority = makeAuthority("store", issue);
  const { certificate, privateKey } = makeServerCertificate(
    authority,
    "store",
    ["127.0.0.1"],
    issue,
  );
  const http = () => ({ status: 200, headers: {}, body: Buffer.from("well") });
  const listening = await listenEtcd(
    { methods: new Map(), http, clock: new NodeClock(), log: silentLog },
    {
      host: "127.0.0.1",
      port: 0,
      tls: { cert: certificate, key: privateKey },
      limits: { ...recommendedServerLimits, headMs: 300, connectionsPerAddressMax: 3 },
    },
  );
  t.after(() => listening.close());
  const closed = (bytes: Buffer): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(listening.port, "127.0.0.1", () => socket.write(bytes));
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
    });
  // Nothing; the head of a record; and, of the two that come then, one is one too many.
  const late = [closed(noPayload), closed(Buffer.of(22, 3, 1, 2, 0))];
  await Promise.race([closed(noPayload), closed(noPayload)]);
  await Promise.all(late);
  const url = `https://127.0.0.1:${listening.port}/health`;
  const text = await new Promise((resolve, reject) => {
    const asked = get(url, { ca: authority.certificate, agent: false }, (answer) =>
      answer.on("data", (chunk: Buffer) => resolve(chunk.toString())),
    );
    asked.on("error", reject);
  });
  assert.equal(text, "well");
});
