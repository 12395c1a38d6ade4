/** A few pods of each class in lockstep with a stock kube-scheduler; `npm run lockstep` has 3,000 on 500 nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { removeDirectory, temporaryDirectory } from "../../process/harness.ts";
import { findPeer, noPeer } from "../../process/peers.ts";
import { runLockstep } from "./lockstep.ts";

const program = findPeer("kube-scheduler");
const skip = program === undefined ? noPeer("kube-scheduler") : false;

test(
  "a stock scheduler chooses one of our best nodes, and refuses in our words",
  { skip },
  async () => {
    const directory = temporaryDirectory("lockstep");
    try {
      const sizes = { nodes: 20, pods: 84, seed: 7 };
      const note = (): void => {};
      const results = await runLockstep({ program: program ?? "", directory, ...sizes, note });
      assert.deepEqual(
        [...results.values()].flatMap(({ differences }) => differences),
        [],
      );
    } finally {
      removeDirectory(directory);
    }
  },
);
