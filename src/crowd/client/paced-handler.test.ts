/** Calls of loops in this process over turns of the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainHandler, PlainRequest } from "#platform/http.ts";
import { type CallTurns, pacedHandler } from "./paced-handler.ts";

function requestOf(name: string): PlainRequest {
  // The handlers below look at nothing else.
  return { peer: { kind: "direct", user: { name, groups: [] } } } as unknown as PlainRequest;
}

/** The first call begins at once; the others begin when `begin` is called. */
class OneAtOnce implements CallTurns {
  readonly callers: string[] = [];
  readonly #waiting: (() => void)[] = [];

  enter(_loop: object, caller: string): Promise<void> | undefined {
    this.callers.push(caller);
    if (this.callers.length === 1) return undefined;
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  begin(): void {
    this.#waiting.shift()?.();
  }
}

function notingHandler(begun: number[]): PlainHandler {
  return () => {
    begun.push(begun.length);
    return Promise.resolve({ kind: "object", status: 200, headers: {}, object: {} });
  };
}

test("a call begins when it has its turn, in the name of its loop's user", async () => {
  const turns = new OneAtOnce();
  const begun: number[] = [];
  const paced = pacedHandler(turns, notingHandler(begun));
  const calls = ["a", "b", "c"].map((name) => paced(requestOf(name)));
  await calls[0];
  assert.deepEqual(turns.callers, ["a", "b", "c"]);
  assert.equal(begun.length, 1);
  turns.begin();
  await calls[1];
  assert.equal(begun.length, 2);
  turns.begin();
  await calls[2];
  assert.equal(begun.length, 3);
});
