/** Direct writes: order and wholeness under a slow reader, and never a byte to the wrong socket. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, Socket } from "node:net";
import { test } from "node:test";
import { FakeRandom } from "../../testing/random.ts";
import { directHandle, socketWriter, type SocketWriter } from "./socket-writer.ts";

interface Pair {
  readonly server: Server;
  readonly near: Socket;
  readonly far: Socket;
}

async function pair(): Promise<Pair> {
  const server = createServer({ noDelay: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return joined(server);
}

async function joined(server: Server): Promise<Pair> {
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const accepted = once(server, "connection");
  const far = connect(address.port, "127.0.0.1");
  const [near] = (await accepted) as [Socket];
  await once(far, "connect");
  return { server, near, far };
}

/** Everything that arrives until the end, with a pause before each read. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer);
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
  return Buffer.concat(chunks);
}

/** Internal, as the handle is. */
function descriptorOf(socket: Socket): unknown {
  return Reflect.get(directHandle(socket) ?? {}, "fd");
}

function drained(writer: SocketWriter): Promise<void> {
  return new Promise((resolve) => writer.onDrain(resolve));
}

test("a reader slower than the writer gets every byte once and in order", async () => {
  const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);
  const random = new FakeRandom(seed);
  const { server, near, far } = await pair();
  assert.notEqual(directHandle(near), undefined, "this host has descriptors");
  const writer = socketWriter(near);
  const blocks = Array.from({ length: 300 }, (_, at) =>
    Buffer.alloc(1 + random.below(200_000), at % 251),
  );
  const got = readAll(far);
  let refused = 0;
  for (const block of blocks) {
    // Now and then Node's own stream writes between, as ServerResponse does with heads and ends.
    if (random.below(10) === 0) near.write(block);
    else if (!writer.write(block)) {
      refused++;
      if (random.below(4) > 0) await drained(writer);
    }
  }
  near.end();
  assert.ok(Buffer.concat(blocks).equals(await got), `seed ${seed}`);
  assert.ok(refused > 0, `the reader was never slow; seed ${seed}`);
  server.close();
});

test("a writer whose socket is gone writes to nobody, even when the descriptor is in use again", async () => {
  const first = await pair();
  const descriptor = descriptorOf(first.near);
  const writer = socketWriter(first.near);
  first.near.destroy();
  first.far.destroy();
  await once(first.near, "close");
  const others: Pair[] = [];
  let reused: Pair | undefined;
  while (reused === undefined && others.length < 50) {
    const next = await joined(first.server);
    others.push(next);
    if (descriptorOf(next.near) === descriptor) reused = next;
  }
  assert.ok(reused !== undefined, "no connection came to the descriptor again");
  assert.equal(writer.write(Buffer.from("stray")), true);
  const got = readAll(reused.far);
  reused.near.end("own");
  assert.equal((await got).toString(), "own");
  for (const { near, far } of others) near.destroy(far.destroy().errored ?? undefined);
  first.server.close();
});

test("what is written to a socket that was just destroyed is nothing, waiting or not", async () => {
  for (const waits of [false, true]) {
    const { server, near, far } = await pair();
    const writer = socketWriter(near);
    const closed = once(near, "close");
    const block = Buffer.alloc(1_000_000);
    while (waits && writer.write(block));
    near.destroy();
    for (let at = 0; at < 3; at++) writer.write(block);
    await closed;
    assert.equal(near.errored, null, "nobody is told an error");
    writer.write(block);
    far.destroy();
    server.close();
  }
});

test("a peer that reset the connection ends the socket, not the process", async () => {
  const { server, near, far } = await pair();
  const writer = socketWriter(near);
  near.on("error", () => {});
  const closed = new Promise((resolve) => near.once("close", resolve));
  far.resetAndDestroy();
  await once(far, "close");
  for (let at = 0; at < 100 && !near.destroyed; at++) writer.write(Buffer.alloc(100_000));
  await closed;
  assert.equal(writer.write(Buffer.from("late")), true);
  server.close();
});

test("a socket that is not plain TCP as Node makes it is written the ordinary way", async () => {
  class Wrapped extends Socket {}
  assert.equal(directHandle(new Wrapped()), undefined);
  assert.equal(directHandle(new Socket()), undefined);
  const { server, near, far } = await pair();
  Object.setPrototypeOf(near, Wrapped.prototype);
  const writer = socketWriter(near);
  const got = readAll(far);
  const block = Buffer.alloc(5_000_000, "x");
  assert.equal(writer.write(block), false);
  await drained(writer);
  near.end();
  assert.ok(block.equals(await got));
  server.close();
});
