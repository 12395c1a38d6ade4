/**
 * The guarantees of a watch, one suite on two implementations: caches that a registry feeds from a store,
 * and mirrors that a relay feeds from an API server. Ordered, unique, reliable, resumable at any replica,
 * true bookmarks and sums, initial events, selectors, 410 only where history is lost - while streams are
 * cut, repeated, delayed, torn and reordered, upstreams restart and compact, clients stall, clocks jump.
 *
 * PILOTHOUSE_RUNS=5000 node --test src/run/sim/watch.model.test.ts       thousands of runs, new seeds each time
 */
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Fed } from "./testing/fed.ts";
import { relayFed } from "./testing/relay-fed.ts";
import { storeFed } from "./testing/store-fed.ts";
import { calm, guarantees, plain, type Profile, rings, wild } from "./testing/watch-guarantees.ts";

/** fast-check prints the seed of a run that fails. */
const numRuns = Number(process.env["PILOTHOUSE_RUNS"] ?? 30);

function hold(profile: Profile, open: (seed: number, ring: number) => Promise<Fed>): Promise<void> {
  return fc.assert(guarantees(profile, open), { numRuns });
}

void describe("watches on caches that a registry feeds from a store", () => {
  void it("hold every guarantee under slow clients, small rings, compactions and restarts", async () => {
    const profile = { keysMax: 3, faults: [plain("compact", "restart")], ordered: true, rings };
    await hold(profile, (_seed, ring) => storeFed({ ringItemsMax: ring }));
  });
});

void describe("watches on mirrors that a relay feeds from an API server", () => {
  const open =
    (calmly: boolean) =>
    (seed: number, ring: number): Promise<Fed> =>
      relayFed({ seed, ringItemsMax: ring, calm: calmly });

  void it("hold every guarantee at any replica while streams are cut, torn, delayed and repeated", () =>
    hold({ keysMax: 1, faults: calm, ordered: true, rings: [1_000] }, open(true)));

  void it("hold them when revisions change several objects and a cut comes between", () =>
    hold({ keysMax: 3, faults: calm, ordered: true, rings: [1_000], stay: true }, open(true)));

  void it("give the difference after compactions and restarts, and 410 to nobody but who would miss something", () =>
    hold({ keysMax: 1, faults: wild, ordered: true, rings }, open(false)));

  void it("do so when revisions change several objects", () =>
    hold({ keysMax: 3, faults: wild, ordered: true, rings, stay: true }, open(false)));

  void it("end up with the truth when the upstream breaks its order, and send nobody away", () =>
    hold(
      {
        keysMax: 3,
        faults: [...wild, plain("swap")],
        ordered: false,
        rings,
        stay: true,
      },
      open(false),
    ));
});
