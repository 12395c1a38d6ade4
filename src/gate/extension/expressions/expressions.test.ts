/** Expressions that take long: on a thread they are answered as they are here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactInteger } from "#base/exact-json.ts";
import { trustStructural } from "#api/structural/structural.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { NodeOffload } from "#platform/node/offload.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { rulesOf, rulesWith } from "../definitions/rules/rules.ts";
import { ExpressionRunner, type ExpressionThread } from "./runner.ts";
import type { ExpressionAnswer, ExpressionTask } from "./tasks.ts";

const program = new URL("thread.ts", import.meta.url);
const limits = { threadsMax: 1, waitingMax: 1, taskMs: 60_000, idleMs: 1, heapBytesMax: 2 ** 29 };
const int = { type: "integer" };

function ruled(...rules: readonly string[]): JsonObject {
  const numbers = { type: "array", items: int, maxItems: 1_000 };
  const texts = rules.map((rule) => ({ rule }));
  return { type: "object", properties: { numbers }, "x-kubernetes-validations": texts };
}

const object = { numbers: Array.from({ length: 300 }, (_, at) => at) } as unknown as AnyObject; // the rules' object
const costly = "self.numbers.all(a, self.numbers.all(b, a + b >= 0))";

function tasksOf(thread: ExpressionThread): {
  readonly thread: ExpressionThread;
  readonly tasks: ExpressionTask[];
} {
  const tasks: ExpressionTask[] = [];
  const run: ExpressionThread["run"] = (task) => {
    tasks.push(task);
    return thread.run(task);
  };
  return { thread: { run }, tasks };
}

test("rules that take long are evaluated by the thread, with the findings that they have here", async () => {
  const offload = new NodeOffload<ExpressionTask, ExpressionAnswer>({ clock: new NodeClock() }, { program, ...limits }); // prettier-ignore
  const { thread, tasks } = tasksOf(offload);
  const structural = trustStructural(ruled(costly, "self.numbers.size() > 300", "self.numbers[0] == 9007199254740993")); // prettier-ignore
  const large = {
    numbers: [exactInteger(9007199254740993n), ...Array.from({ length: 299 }, () => 1)],
  };
  for (const one of [object, large as unknown as AnyObject]) {
    const found = await rulesWith(new ExpressionRunner(thread))(structural)?.(one, undefined);
    assert.deepEqual(found?.errors, rulesOf(structural).check(one, undefined).errors);
  }
  assert.deepEqual(tasks.map(({ kind }) => kind), ["rules", "rules"]); // prettier-ignore
  await offload.close();
});

test("rules that take short are evaluated here", async () => {
  const never: ExpressionThread = { run: () => assert.fail("nothing takes long") };
  const check = rulesWith(new ExpressionRunner(never))(trustStructural(ruled("self.numbers.size() == 300"))); // prettier-ignore
  assert.deepEqual((await check?.(object, undefined))?.errors, []);
});

for (const [kind, code] of [
  ["busy", 429],
  ["exceeded", 504],
] as const) {
  test(`a write whose rules find the thread ${kind} is answered ${code}`, async () => {
    const thread: ExpressionThread = { run: () => Promise.resolve({ kind }) };
    const check = rulesWith(new ExpressionRunner(thread))(trustStructural(ruled(costly)));
    await assert.rejects(async () => check?.(object, undefined), { code });
  });
}
