/** Pages of several threads as one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sumPages } from "./sum-pages.ts";

const page = (count: number, memory: number): string =>
  `# HELP a_total [STABLE] Calls.
# TYPE a_total counter
a_total{verb="GET"} ${count}
# HELP h Times.
# TYPE h histogram
h_bucket{le="+Inf"} ${count}
h_sum ${count / 2}
# HELP process_bytes Memory.
# TYPE process_bytes gauge
process_bytes ${memory}
`;

test("samples of a series are added under one HELP, and what threads have in common counts once", () => {
  const other = `# HELP b B.\n# TYPE b gauge\nb 1\n`;
  const isCommon = (name: string): boolean => name.startsWith("process_");
  assert.equal(sumPages([page(1, 10), "", page(2, 20) + other], isCommon), page(3, 10) + other);
});
