/** What --recovery-budget takes, through the command line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import {
  addRecoveryFlag,
  recoveryDefaults,
  type RecoveryFlags,
  recoveryLimitsOf,
} from "./recovery.ts";

function limitsOf(...args: readonly string[]) {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addRecoveryFlag(command);
  return recoveryLimitsOf(command.parse(args, { from: "user" }).opts<RecoveryFlags>());
}

test("absent and auto are the defaults, off is none, a number is the most", () => {
  assert.deepEqual(limitsOf(), recoveryDefaults);
  assert.deepEqual(limitsOf("--recovery-budget", "auto"), recoveryDefaults);
  assert.equal(limitsOf("--recovery-budget", "off"), undefined);
  const few = limitsOf("--recovery-budget", "3");
  assert.deepEqual(few, { firstPerSecond: 3, leastPerSecond: 3, mostPerSecond: 3 });
});

test("what is neither is refused", () => {
  for (const text of ["", "-1", "0", "fast", "1e9"]) {
    assert.throws(() => limitsOf("--recovery-budget", text), /auto, off, or a number/);
  }
});
