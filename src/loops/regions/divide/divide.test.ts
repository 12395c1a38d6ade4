/** Replicas by region: exact in sum, stable, and nothing leaves a region that is only silent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import {
  chooseWhole,
  divide,
  type DivideOptions,
  type RegionClaim,
  type Standing,
} from "./divide.ts";

const most = 1_000_000;

function region(name: string, fields: Partial<RegionClaim> = {}): RegionClaim {
  return {
    name,
    weight: 1,
    least: 0,
    most,
    standing: "open",
    before: 0,
    release: 0,
    domain: "",
    ...fields,
  };
}

const plain: DivideOptions = { sticky: false, spread: false };

function text(total: number, regions: readonly RegionClaim[], options = plain): string {
  const { shares, unplaced } = divide(total, regions, options);
  const all = [...shares].map(([name, share]) => `${name}=${share}`).join(" ");
  return unplaced === 0 ? all : `${all} unplaced=${unplaced}`;
}

test("a silent region keeps its replicas when the whole grows, and gets no more", () => {
  const regions = [region("eu", { before: 5, standing: "silent" }), region("us", { before: 5 })];
  assert.equal(text(10, regions), "eu=5 us=5");
  assert.equal(text(20, regions), "eu=5 us=15");
});

test("when the whole shrinks, a silent region shrinks with the others", () => {
  const regions = [region("eu", { before: 5, standing: "silent" }), region("us", { before: 5 })];
  assert.equal(text(4, regions), "eu=2 us=2");
});

test("a closed region gives up what was released, and no more", () => {
  const eu = { before: 6, standing: "closed" as const };
  assert.equal(text(9, [region("eu", eu), region("us", { before: 3 })]), "eu=6 us=3");
  assert.equal(
    text(9, [region("eu", { ...eu, release: 4 }), region("us", { before: 3 })]),
    "eu=2 us=7",
  );
});

test("what no open region can take stays counted where it was", () => {
  const eu = region("eu", { before: 6, standing: "closed", release: 6 });
  assert.equal(text(6, [eu, region("us", { most: 2 })]), "eu=4 us=2");
  assert.equal(text(6, [eu]), "eu=6");
});

test("free room bounds a region, until there is none anywhere", () => {
  const regions = [region("eu", { free: 2 }), region("us", { free: 5 })];
  assert.equal(text(6, regions), "eu=2 us=4");
  assert.equal(text(20, regions), "eu=10 us=10");
});

test("sticky shares grow where there is room and move nothing", () => {
  const sticky = { sticky: true, spread: false };
  const regions = [
    region("eu", { before: 8, weight: 10, free: 2 }),
    region("us", { before: 2, weight: 42, free: 40 }),
  ];
  assert.equal(text(12, regions, sticky), "eu=8 us=4");
  assert.equal(text(8, regions, sticky), "eu=6 us=2");
});

test("domains get equal parts, and their regions share them", () => {
  const regions = [
    region("de", { domain: "europe" }),
    region("fr", { domain: "europe" }),
    region("us", { domain: "america" }),
  ];
  assert.equal(text(8, regions, { sticky: false, spread: true }), "de=2 fr=2 us=4");
});

test("a workload that is never split stays, unless its region is closed and it may leave", () => {
  const eu = region("eu", { before: 1 });
  const us = region("us", { free: 9 });
  assert.equal(chooseWhole([eu, us], true), "eu");
  assert.equal(chooseWhole([{ ...eu, standing: "silent" }, us], true), "eu");
  assert.equal(chooseWhole([{ ...eu, standing: "closed" }, us], false), "eu");
  assert.equal(chooseWhole([{ ...eu, standing: "closed" }, us], true), "us");
  assert.equal(chooseWhole([region("a"), us], true), "us");
  assert.equal(chooseWhole([], true), undefined);
});

test("random changes: exact in sum, within bounds, and as few moves as the change asks for", () => {
  const random = new FakeRandom(11);
  const standings: readonly Standing[] = ["open", "open", "open", "silent", "closed"];
  for (let run = 0; run < 200; run++) {
    const options = { sticky: random.below(2) === 0, spread: random.below(3) === 0 };
    let regions: readonly RegionClaim[] = Array.from({ length: 1 + random.below(5) }, (_, i) =>
      region(`r${i}`, { weight: 1 + random.below(4), domain: `d${i % 2}` }),
    );
    for (let step = 0; step < 6; step++) {
      const total = random.below(40);
      regions = regions.map((one) => ({
        ...one,
        standing: standings[random.below(standings.length)] ?? "open",
        release: random.below(5),
        least: random.below(2),
        most: 1 + random.below(30),
      }));
      const placed = regions.reduce((all, { before }) => all + before, 0);
      const { shares, unplaced } = divide(total, regions, options);
      const sum = [...shares.values()].reduce((a, b) => a + b, 0);
      assert.equal(sum + unplaced, total);
      for (const { name, standing, before, release, most: limit } of regions) {
        const share = shares.get(name) ?? 0;
        if (standing === "open") assert.ok(share <= limit);
        else assert.ok(share <= before, `${standing} region ${name} got more`);
        if (standing === "closed" && total >= placed) assert.ok(share >= before - release);
        if (standing === "silent" && total >= placed) assert.equal(share, before);
      }
      regions = regions.map((one) => ({ ...one, before: shares.get(one.name) ?? 0 }));
    }
  }
});
