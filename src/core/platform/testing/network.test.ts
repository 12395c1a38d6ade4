/** The fake network delays, keeps order, and loses only what was under way when a connection was cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "./clock.ts";
import { ConnectionLost, FakeNetwork, type FakeStream, type StreamClient } from "./network.ts";
import { FakeRandom } from "./random.ts";

type Echo = (request: string) => Promise<string>;

function newNetwork(seed = 1): { clock: FakeClock; network: FakeNetwork<Echo> } {
  const clock = new FakeClock();
  return { clock, network: new FakeNetwork({ clock, random: new FakeRandom(seed) }) };
}

const nothing = (): void => undefined;

class Reader implements StreamClient<number> {
  readonly read: number[] = [];
  ended: Error | "well" | undefined;

  message(message: number): void {
    assert.equal(this.ended, undefined, "nothing follows the end");
    this.read.push(message);
  }

  closed(error: Error | undefined): void {
    this.ended = error ?? "well";
  }
}

void test("a call takes the way there and back, and nobody answers where nobody listens", async () => {
  const { clock, network } = newNetwork();
  assert.equal(network.connect(), undefined);
  const passed: string[] = [];
  network.serve(
    (text) => Promise.resolve(`echo of ${text}`),
    (point) => passed.push(point),
  );
  const connection = network.connect();
  const answer = connection?.call(
    () => connection.server("a"),
    (text) => text.length,
  );
  assert.deepEqual(passed, []);
  await clock.advance(2 * network.delayMsMax);
  assert.equal(await answer, "echo of a".length);
  assert.deepEqual(passed, ["message in", "message out"]);
});

void test("a cut ends what is under way, and does not say whether the server saw it", async () => {
  const seen = new Set<boolean>();
  for (let seed = 1; seed <= 40; seed++) {
    const { clock, network } = newNetwork(seed);
    let arrived = false;
    network.serve((text) => {
      arrived = true;
      return Promise.resolve(text);
    }, nothing);
    const connection = network.connect();
    assert.ok(connection !== undefined);
    const lost = (error: Error): boolean => error instanceof ConnectionLost && error.sent;
    const answer = assert.rejects(
      connection.call(() => connection.server("a"), String),
      lost,
    );
    clock.tick(network.delayMsMax / 2);
    connection.cut();
    await answer;
    await assert.rejects(
      connection.call(() => connection.server("b"), String),
      (error: Error) => error instanceof ConnectionLost && !error.sent,
    );
    seen.add(arrived);
  }
  assert.equal(seen.size, 2);
});

/** A stream of the numbers from 0 to 9, sent at once. */
function counting(seed: number) {
  const { clock, network } = newNetwork(seed);
  network.serve((text) => Promise.resolve(text), nothing);
  const reader = new Reader();
  let stream: FakeStream<number> | undefined;
  const end = network.connect()?.open<number>(reader, 3, (opened) => {
    stream = opened;
    for (let number = 0; number < 10; number++) opened.send(number, 100);
    return { message: nothing, closed: nothing };
  });
  assert.ok(stream !== undefined && end !== undefined);
  return { clock, network, reader, stream, end };
}

void test("a stream arrives in order, and what is not taken yet is the server's backlog", async () => {
  const { clock, reader, stream } = counting(1);
  assert.equal(stream.backlogBytes, 1000);
  let drained = false;
  stream.onDrain(() => (drained = true));
  clock.tick(5);
  assert.ok(stream.backlogBytes > 0 && !drained, "the reader takes 3 ms over each");
  stream.finish(undefined);
  await clock.advance(1000);
  assert.deepEqual(reader.read, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(reader.ended, "well");
  assert.equal(stream.backlogBytes, 0);
  assert.equal(drained, false, "a stream that is over drains to nobody");
});

void test("of a stream whose server is gone a prefix arrives, of one that was cut no more", () => {
  const lengths = new Set<number>();
  for (let seed = 1; seed <= 60; seed++) {
    const { clock, network, reader } = counting(seed);
    network.down();
    clock.tick(1000);
    assert.deepEqual(reader.read, [...reader.read.keys()], `seed ${seed}`);
    assert.equal(reader.ended, "well");
    lengths.add(reader.read.length);
  }
  assert.ok(lengths.has(0) && lengths.has(10) && lengths.size > 5, String([...lengths]));
  const { clock, network, reader } = counting(1);
  network.cut(1);
  clock.tick(1000);
  assert.deepEqual(reader.read, []);
});
