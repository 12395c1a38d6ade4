/** Heads of HTTP/2 are read for some milliseconds a turn, and a connection is ended at the second that is too large. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import { test } from "node:test";
import { Http2Reading } from "./http2-reading.ts";

class Loop {
  ms = 0;
  #next: (() => void)[] = [];
  nowMs(): number {
    return this.ms;
  }
  nextTurn(f: () => void): void {
    this.#next.push(f);
  }
  turn(): void {
    const due = this.#next;
    this.#next = [];
    for (const f of due) f();
  }
}

class Session extends EventEmitter {
  destroyed = false;
  code: number | undefined;
  readonly calls: string[] = [];
  readonly socket = {
    _handle: {
      bytesRead: 0,
      readStop: () => this.calls.push("stop"),
      readStart: () => this.calls.push("start"),
    },
  };
  destroy(_error: undefined, code: number): void {
    this.destroyed = true;
    this.code = code;
    this.emit("close");
  }
}

function setUp() {
  const loop = new Loop();
  const reading = new Http2Reading(loop, { readMs: 10 });
  const sessions = [new Session(), new Session()] as const;
  const asNode = (session: Session) => session as unknown as ServerHttp2Session;
  for (const session of sessions) reading.add(asNode(session));
  return { loop, reading, sessions, asNode };
}

test("after its time a turn reads of no connection, and the next one of all", () => {
  const { loop, reading, sessions } = setUp();
  reading.head();
  loop.ms = 10;
  reading.head();
  assert.deepEqual(sessions[0].calls, []);
  // Ten for the turn, five thousandths for each of the two.
  loop.ms = 10.02;
  reading.head();
  reading.head();
  for (const { calls } of sessions) assert.deepEqual(calls, ["stop"]);
  loop.turn();
  for (const { calls } of sessions) assert.deepEqual(calls, ["stop", "start"]);
  reading.head();
  for (const { calls } of sessions) assert.deepEqual(calls, ["stop", "start"]);
});

test("where each turn is stopped, one connection that gives much goes on after those that give little", () => {
  const { loop, reading, sessions, asNode } = setUp();
  const [heavy, other] = sessions;
  const light = new Session();
  reading.add(asNode(light));
  const stopped = (): void => {
    reading.head();
    loop.ms += 11;
    reading.head();
    for (const { socket } of [heavy, other]) socket._handle.bytesRead += 20_000;
    loop.turn();
  };
  const lastCalls = (): readonly (string | undefined)[] =>
    [heavy, other, light].map(({ calls }) => calls.at(-1));
  stopped();
  assert.deepEqual(
    lastCalls(),
    ["start", "start", "start"],
    "what they gave in one turn is not known",
  );
  stopped();
  assert.deepEqual(lastCalls(), ["stop", "stop", "start"]);
  loop.turn();
  assert.deepEqual(lastCalls(), ["start", "stop", "start"]);
  heavy.destroy(undefined, 0);
  loop.turn();
  assert.deepEqual(lastCalls(), ["start", "start", "start"]);
  const calls = light.calls.length;
  loop.turn();
  assert.equal(light.calls.length, calls, "nothing turns when nothing waits");
});

test("a connection that has closed meanwhile is left alone", () => {
  const { loop, reading, sessions, asNode } = setUp();
  reading.head();
  loop.ms = 10.02;
  reading.head();
  sessions[0].destroy(undefined, 0);
  loop.turn();
  assert.deepEqual(sessions[0].calls, ["stop"]);
  assert.equal(reading.mayAnswerTooLarge(asNode(sessions[0])), false);
});

test("one head that is too large is answered per turn; the next one ends its connection alone", () => {
  const { loop, reading, sessions, asNode } = setUp();
  const [first, other] = sessions;
  assert.ok(reading.mayAnswerTooLarge(asNode(first)));
  loop.turn();
  assert.ok(reading.mayAnswerTooLarge(asNode(first)));
  assert.ok(reading.mayAnswerTooLarge(asNode(other)));
  assert.equal(reading.mayAnswerTooLarge(asNode(first)), false);
  const enhanceYourCalm = 11;
  assert.deepEqual([first.destroyed, first.code], [true, enhanceYourCalm]);
  assert.equal(other.destroyed, false);
});
