/** The stack of parts by itself: order, failures, stops. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parts, StartStopped } from "./parts.ts";

/** Opens parts by name and notes what happens to them. */
class Notes {
  readonly lines: string[] = [];

  open(parts: Parts, name: string): Promise<string> {
    const make = (): string => {
      this.lines.push(`open ${name}`);
      return name;
    };
    return parts.open(name, make, { close: () => this.lines.push(`close ${name}`) });
  }
}

test("parts are closed in reverse, those of an inner stack where it stands", async () => {
  const notes = new Notes();
  const parts = new Parts();
  await notes.open(parts, "a");
  const inner = parts.nest("inner");
  await notes.open(inner, "b");
  await notes.open(inner, "c");
  await notes.open(parts, "d");
  notes.lines.length = 0;
  await parts[Symbol.asyncDispose]();
  assert.deepEqual(notes.lines, ["close d", "close c", "close b", "close a"]);
});

test("a second disposal closes nothing again", async () => {
  const notes = new Notes();
  const parts = new Parts();
  await notes.open(parts, "a");
  await parts[Symbol.asyncDispose]();
  await parts[Symbol.asyncDispose]();
  assert.deepEqual(notes.lines, ["open a", "close a"]);
});

test("a start that fails closes what it opened and rejects with its cause", async () => {
  const notes = new Notes();
  const parts = new Parts();
  const start = parts.closeOnFailure(async () => {
    await notes.open(parts, "a");
    await parts.open("b", () => Promise.reject(new Error("no b")), { close: () => undefined });
  });
  await assert.rejects(start, /no b/);
  assert.deepEqual(notes.lines, ["open a", "close a"]);
});

test("every part is closed also when the closing of one fails", async () => {
  const notes = new Notes();
  const parts = new Parts();
  await notes.open(parts, "a");
  const fail = (): never => {
    throw new Error("stuck");
  };
  await parts.open("b", () => "b", { close: fail });
  await notes.open(parts, "c");
  await assert.rejects(parts[Symbol.asyncDispose](), /stuck/);
  assert.deepEqual(notes.lines.slice(2), ["close c", "close a"]);
});

test("after a stop nothing more is opened", async () => {
  const stopping = new AbortController();
  const notes = new Notes();
  const parts = new Parts({ stopping: stopping.signal });
  await notes.open(parts, "a");
  stopping.abort();
  await assert.rejects(notes.open(parts.nest("inner"), "b"), StartStopped);
  await parts[Symbol.asyncDispose]();
  assert.deepEqual(notes.lines, ["open a", "close a"]);
});

test("health checks are those of all parts, in the order of opening", async () => {
  const parts = new Parts();
  const healthy = (name: string) => ({
    close: () => undefined,
    checks: () => [{ name, check: () => undefined }],
  });
  await parts.open("a", () => 1, healthy("first"));
  await parts.nest("inner").open("b", () => 2, healthy("second"));
  await parts.open("c", () => 3, healthy("third"));
  assert.deepEqual(
    parts.checks().map(({ name }) => name),
    ["first", "second", "third"],
  );
});
