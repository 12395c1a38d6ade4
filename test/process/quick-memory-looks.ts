/**
 * Loaded into a role before it starts (`--import`): memory is looked at each 20 ms, there is more of it at each
 * look, and a collection is a line on standard output. What is left is whether the role looks at all.
 */
import { NodeClock } from "../../src/core/platform/node/clock.ts";
import { nodeMemory } from "../../src/core/platform/node/spare-memory.ts";

const lookMs = 20;
const clock = new NodeClock();
const after = clock.after.bind(clock);
NodeClock.prototype.after = (name, delayMs, f) =>
  after(name, name === "memory.look" ? lookMs : delayMs, f);

let resident = 2 ** 20;
Object.assign(nodeMemory, {
  residentBytes: () => (resident *= 2),
  cpuMs: () => 0,
  freeBytes: () => 0,
  trim: () => {},
  collectInSteps() {
    process.stdout.write(`memory of ${process.pid} is given back\n`);
    return Promise.resolve();
  },
});
