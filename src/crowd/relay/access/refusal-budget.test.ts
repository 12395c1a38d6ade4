/** What credentials nobody vouches for may cost the upstream. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FakeClock } from "#platform/testing/clock.ts";
import { ApiError } from "#api/status.ts";
import { hostOf } from "./client-host.ts";
import { RefusalBudget, type RefusalLimits } from "./refusal-budget.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const limits: RefusalLimits = {
  refusalBurst: 3,
  refusalsPerSecond: 1,
  refusalTotalBurst: 5,
  refusalsTotalPerSecond: 2,
  refusalAddressesMax: 4,
};

class World {
  readonly clock = new FakeClock();
  readonly budget = new RefusalBudget({ clock: this.clock }, limits);
  asked = 0;

  /** The answer: "yes", "no", or the code of a refusal. */
  async try(address: string, yes = false): Promise<string> {
    const ask = (): Promise<boolean> => {
      this.asked++;
      return Promise.resolve(yes);
    };
    try {
      return (await this.budget.spend(address, ask, Boolean)) ? "yes" : "no";
    } catch (error) {
      assert.ok(error instanceof ApiError);
      const seconds = error.status.details?.retryAfterSeconds ?? 0;
      assert.ok(seconds >= 1);
      return String(error.code);
    }
  }

  async many(address: string, count: number): Promise<string> {
    const answers: string[] = [];
    for (let at = 0; at < count; at++) answers.push(await this.try(address));
    return answers.join(" ");
  }
}

describe("unknown credentials", () => {
  it("of one address are asked about until its budget is spent, and again with time", async () => {
    const world = new World();
    assert.equal(await world.many("a", 5), "no no no 429 429");
    await world.clock.advance(1_000);
    assert.equal(await world.many("a", 2), "no 429");
    assert.equal(world.asked, 4);
  });

  it("of one address leave the others theirs, until all is spent", async () => {
    const world = new World();
    await world.many("a", 4);
    assert.equal(await world.many("b", 3), "no no 429");
    assert.deepEqual(world.budget.counts, { refused: 5, limitedAddress: 1, limitedTotal: 1 });
  });

  it("cost nothing when they are somebody's", async () => {
    const world = new World();
    for (let at = 0; at < 20; at++) assert.equal(await world.try("a", true), "yes");
  });

  it("cost nothing when the upstream does not answer", async () => {
    const world = new World();
    const fails = (): Promise<boolean> => Promise.reject(new Error("away"));
    for (let at = 0; at < 20; at++) {
      await assert.rejects(world.budget.spend("a", fails, Boolean), /away/);
    }
    assert.equal(await world.try("a"), "no");
  });

  it("are counted before they are asked about, however many come at once", async () => {
    const world = new World();
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.try("a")));
    assert.equal(answers.filter((answer) => answer === "no").length, 3);
    assert.equal(world.asked, 3);
  });

  it("never cost more than bursts and rates, whoever comes when", async () => {
    const steps = fc.array(
      fc.record({ address: fc.constantFrom("a", "b", "c", "d", "e", "f"), ms: fc.nat(700) }),
      { maxLength: 60 },
    );
    const property = fc.asyncProperty(steps, async (all) => {
      const world = new World();
      let elapsedMs = 0;
      for (const { address, ms } of all) {
        await world.clock.advance(ms);
        elapsedMs += ms;
        await world.try(address);
        const { refusalTotalBurst, refusalsTotalPerSecond } = limits;
        const most = refusalTotalBurst + (elapsedMs / 1000) * refusalsTotalPerSecond;
        assert.ok(world.asked <= most, `${world.asked} asked, ${most} allowed`);
      }
    });
    await fc.assert(property, { seed, numRuns: 200 });
  });
});

describe("an address", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002::9", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["", ""],
  ];
  for (const [address, host] of rows) {
    it(`${address} counts as ${host}`, () => assert.equal(hostOf(address), host));
  }
});
