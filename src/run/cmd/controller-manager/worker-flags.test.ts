/** Flags of the controller manager that go to its controllers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { flagsOf } from "../testing/role-flags.ts";
import { autoscalingOf } from "./autoscaling-flags.ts";
import type { ControllerManagerFlags } from "./flags.ts";
import { workersOf } from "./worker-flags.ts";

function parsed(...given: readonly string[]): ControllerManagerFlags {
  return flagsOf<ControllerManagerFlags>("controller-manager", ...given);
}

test("--concurrent-*-syncs set the workers of the controllers that they name, and of no other", () => {
  assert.deepEqual([...workersOf(parsed())], []);
  const given = parsed("--concurrent-gc-syncs=3", "--concurrent-deployment-syncs", "7");
  assert.deepEqual(
    [...workersOf(given)],
    [
      ["deployment-controller", 7],
      ["garbage-collector", 3],
    ],
  );
});

test("--horizontal-pod-autoscaler-* are upstream's, with its defaults", () => {
  const { syncMs, tolerance, downscaleStabilizationMs } = autoscalingOf(parsed());
  assert.deepEqual([syncMs, tolerance, downscaleStabilizationMs], [15_000, 0.1, 300_000]);
  const given = parsed(
    "--horizontal-pod-autoscaler-sync-period=5s",
    "--horizontal-pod-autoscaler-tolerance=0.05",
    "--horizontal-pod-autoscaler-downscale-stabilization=0s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1m",
    "--horizontal-pod-autoscaler-initial-readiness-delay=10s",
  );
  assert.deepEqual(
    Object.values(autoscalingOf(given))
      .toSorted((a, b) => a - b)
      .slice(0, 5),
    [0, 0.05, 5_000, 10_000, 10_000],
  );
});
