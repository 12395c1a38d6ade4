/** Shares by the divisor method: exact in sum, within bounds, one step per step; against single steps as the oracle. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { shareOut, type Claim } from "./divisor.ts";

const claim = (name: string, weight: number, least = 0, most = 1_000_000_000): Claim => ({
  name,
  weight,
  least,
  most,
});

const text = (total: number, claims: readonly Claim[]): string => {
  const { shares, left } = shareOut(total, claims);
  return `${[...shares].map(([name, share]) => `${name}=${share}`).join(" ")} left=${left}`;
};

test("weights decide, within the least and the most of each", () => {
  assert.equal(text(10, [claim("a", 1), claim("b", 1)]), "a=5 b=5 left=0");
  assert.equal(text(10, [claim("a", 3), claim("b", 1)]), "a=8 b=2 left=0");
  assert.equal(text(10, [claim("a", 3, 0, 4), claim("b", 1)]), "a=4 b=6 left=0");
  assert.equal(text(10, [claim("a", 9), claim("b", 1, 4)]), "a=6 b=4 left=0");
});

test("what nobody may take is left over, and least shares beyond the total are given in order", () => {
  assert.equal(text(10, [claim("a", 1, 0, 3), claim("b", 0, 2, 2)]), "a=3 b=2 left=5");
  assert.equal(text(3, [claim("a", 1, 2), claim("b", 1, 2)]), "a=2 b=1 left=0");
  assert.equal(text(3, []), " left=3");
});

test("two thousand million replicas take no longer than two", () => {
  const claims = Array.from({ length: 100 }, (_, i) => claim(`r${i}`, 1 + (i % 7)));
  const { shares, left } = shareOut(2 ** 31 - 1, claims);
  assert.equal(left, 0);
  assert.equal(
    [...shares.values()].reduce((a, b) => a + b),
    2 ** 31 - 1,
  );
});

/** Too simple to be wrong: one at a time to the highest quotient. */
function bySteps(total: number, claims: readonly Claim[]): ReadonlyMap<string, number> {
  const shares = new Map(claims.map(({ name, least }) => [name, least]));
  let left = total - [...shares.values()].reduce((a, b) => a + b, 0);
  for (; left > 0; left--) {
    const best = claims
      .filter(({ name, most, weight }) => weight > 0 && (shares.get(name) ?? 0) < most)
      .map(({ name, weight }) => ({ name, quotient: weight / (2 * (shares.get(name) ?? 0) + 1) }))
      .reduce((a, b) => (b.quotient > a.quotient ? b : a), { name: "", quotient: 0 });
    if (best.name === "") break;
    shares.set(best.name, (shares.get(best.name) ?? 0) + 1);
  }
  return shares;
}

test("random claims: equal to single steps, exact in sum, and one more in total changes one share by one", () => {
  const random = new FakeRandom(7);
  for (let run = 0; run < 300; run++) {
    const claims = Array.from({ length: 1 + random.below(6) }, (_, i) => {
      const least = random.below(4);
      return claim(`r${i}`, random.below(5) / 2, least, least + random.below(30));
    });
    const floor = claims.reduce((all, { least }) => all + least, 0);
    const total = floor + random.below(60);
    const { shares, left } = shareOut(total, claims);
    assert.deepEqual(shares, bySteps(total, claims), JSON.stringify({ total, claims }));
    assert.equal([...shares.values()].reduce((a, b) => a + b, 0) + left, total);
    const next = shareOut(total + 1, claims).shares;
    const changes = claims.map(({ name }) => (next.get(name) ?? 0) - (shares.get(name) ?? 0));
    assert.ok(changes.every((change) => change === 0 || change === 1));
    assert.ok(changes.filter((change) => change === 1).length <= 1);
  }
});
