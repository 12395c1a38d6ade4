/** Which connection goes when there is one too many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ConnectionAccount, ConnectionBudget, connectionLimits } from "./connection-budget.ts";

interface Opened {
  readonly budget: ConnectionBudget;
  /** Names of those that were closed, in order, with the reason. */
  readonly closed: string[];
  readonly open: (name: string, user?: string) => ConnectionAccount;
}

function opened(connectionsMax: number, newcomersMax: number): Opened {
  const budget = new ConnectionBudget({ connectionsMax, newcomersMax, warnAt: connectionsMax - 1 });
  const closed: string[] = [];
  const open = (name: string, user?: string): ConnectionAccount => {
    const account = budget.admit((reason) => closed.push(`${name} ${reason}`));
    if (user !== undefined) account.belongsTo(user);
    return account;
  };
  return { budget, closed, open };
}

test("the newest connection without credentials goes, but for newcomers", () => {
  const { budget, closed, open } = opened(6, 2);
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) open(name);
  assert.deepEqual(closed, []);
  open("a7");
  open("a8");
  assert.deepEqual(closed, ["a4 anonymous", "a5 anonymous"]);
  assert.equal(budget.count, 6);
  assert.equal(budget.closedCount("anonymous"), 2);
});

test("an operator is warned at four fifths of the open files, dialed connections included", () => {
  assert.equal(connectionLimits(65_536).warnAt, 52_428);
  assert.equal(connectionLimits(256).warnAt, connectionLimits(256).connectionsMax);
  const { budget, open } = opened(4, 2);
  open("a1");
  const end = budget.dial();
  assert.equal(budget.isNearlyFull, false);
  open("a2");
  assert.equal(budget.isNearlyFull, true);
  end();
  assert.equal(budget.isNearlyFull, false);
});

test("what the process dials itself takes the place of connections without credentials", () => {
  const { budget, closed, open } = opened(6, 2);
  for (const name of ["a1", "a2", "a3", "a4"]) open(name);
  const ends = [budget.dial(), budget.dial()];
  assert.deepEqual(closed, []);
  ends.push(budget.dial());
  assert.deepEqual(closed, ["a2 anonymous"]);
  open("a5");
  assert.deepEqual(closed, ["a2 anonymous", "a1 anonymous"]);
  assert.equal(budget.count + budget.dialedCount, 6);
  for (const end of [...ends, ...ends]) end();
  assert.equal(budget.dialedCount, 0);
});

test("a client that shows its credentials stays, however many come after it", () => {
  const { budget, closed, open } = opened(6, 2);
  for (let index = 0; index < 100; index++) open(`before${index}`);
  open("kubectl", "alice");
  for (let index = 0; index < 100; index++) open(`after${index}`);
  assert.ok(!closed.some((name) => name.startsWith("kubectl")));
  assert.equal(budget.count, 6);
  assert.equal(budget.anonymousCount, 5);
});

test("where all have credentials, the newest of the user with most goes", () => {
  const { closed, open } = opened(8, 2);
  for (let index = 0; index < 6; index++) open(`greedy${index}`, "greedy");
  open("b0", "bob");
  open("b1", "bob");
  open("c0", "carol");
  open("c1", "carol");
  assert.deepEqual(closed, ["greedy5 user", "greedy4 user"]);
  open("d0");
  assert.deepEqual(closed.slice(2), ["d0 anonymous"], "nobody has more than four");
});

test("of users with few connections none goes: the oldest newcomer does", () => {
  const { closed, open } = opened(4, 2);
  for (const user of ["a", "b", "c"]) open(user, user);
  open("n0");
  open("n1");
  assert.deepEqual(closed, ["n0 anonymous"]);
});

test("a connection that left makes room, once", () => {
  const { budget, closed, open } = opened(2, 1);
  const first = open("a1");
  open("a2");
  first.leave();
  first.leave();
  assert.equal(budget.count, 1);
  open("a3");
  assert.deepEqual(closed, []);
  first.belongsTo("alice");
  assert.equal(budget.anonymousCount, 2, "it is not there any more");
});

test("the count is never above the bound, and always of those that are open", () => {
  const steps = fc.array(fc.tuple(fc.nat(5), fc.constantFrom("open", "leave", "known")), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const budget = new ConnectionBudget({ connectionsMax: 8, newcomersMax: 3, warnAt: 8 });
      const live = new Map<number, ConnectionAccount>();
      for (const [at, [which, step]] of all.entries()) {
        const [number, one] = [...live][which] ?? [];
        if (step === "open") {
          let isClosed = false;
          const account = budget.admit(() => {
            isClosed = true;
            live.delete(at);
          });
          if (!isClosed) live.set(at, account);
        } else if (number !== undefined && step === "leave") {
          one?.leave();
          live.delete(number);
        } else one?.belongsTo(`user${at % 3}`);
        assert.equal(budget.count, live.size);
        assert.ok(budget.count <= 8);
      }
    }),
  );
});

const connectionsMaxOf = (openFilesMax: number): number =>
  connectionLimits(openFilesMax).connectionsMax;

test("an eighth of the limit is kept back, at least what a process needs itself", () => {
  assert.equal(connectionsMaxOf(256), 160);
  assert.equal(connectionsMaxOf(1_024), 896);
  assert.equal(connectionsMaxOf(20_000), 17_500);
  assert.equal(connectionsMaxOf(1_048_576), 1_040_384);
});

test("however low the limit, there is one", () => {
  assert.equal(connectionsMaxOf(64), 1);
});
