/**
 * Loaded before each test file: property tests take the run's seed, so that a run can be had again.
 * Only where they are: fast-check costs 35 ms a process.
 */
import { readFileSync } from "node:fs";

const [, file = ""] = process.argv;
const seed = Number(process.env.PILOTHOUSE_SEED);

// The simulator's tests have their properties in files beside them, a room's bundle in those that it joins.
const joins = /\/sim\//.test(file) || file.endsWith(".test.mjs");
if (/\.test\.(ts|mjs)$/.test(file) && (joins || hasProperties())) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ seed });
}

function hasProperties() {
  return readFileSync(file, "utf8").includes('from "fast-check"');
}
