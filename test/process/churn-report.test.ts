/** What a churn soak tells of itself: figures of a page of metrics, and when too much was kept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, keptOf, medianOf, tableHead, tableRow } from "./churn-report.ts";

const page = `# HELP process_resident_memory_bytes x
process_resident_memory_bytes 300000000
nodejs_heap_size_used_bytes 50000000
nodejs_heap_size_total_bytes 70000000
nodejs_external_memory_bytes 5000000
nodejs_array_buffers_bytes 25000000
pilothouse_store_live_bytes 3000000
pilothouse_store_held_bytes 4000000
pilothouse_store_history_bytes 1000
pilothouse_store_log_bytes 2000000
pilothouse_store_checkpoint_bytes 6000000
apiserver_storage_objects{resource="pods"} 30
apiserver_storage_objects{resource="events"} 5
`;

test("figures are read from the page, and what no metric explains is the rest", () => {
  const kept = keptOf(page);
  assert.equal(kept.rest, 200e6);
  assert.equal(kept.objects, 35);
  const [, names = ""] = tableHead().split("\n");
  const row = tableRow(1.25, "quiet", kept);
  assert.equal(row.trim().split(/\s+/).length, names.trim().split(/\s+/).length);
  assert.match(row, /^ +1\.3 +quiet +300\.0 +50\.0 /);
});

test("a metric that is gone is an error, not a zero", () => {
  const without = page.replace(/^pilothouse_store_log_bytes.*\n/m, "");
  assert.throws(() => keptOf(without), /no metric pilothouse_store_log_bytes/);
});

test("more than so many times the fresh process is a fault that says by how much", () => {
  const sharesMax = { resident: 1.3, disk: 2 };
  const fresh = { resident: 200e6, disk: 4e6 };
  assert.deepEqual(faultsOf({ resident: 260e6, disk: 8e6 }, fresh, sharesMax), []);
  assert.deepEqual(faultsOf({ resident: 300e6, disk: 10e6 }, fresh, sharesMax), [
    "resident: 300 MB beside 200 MB fresh, 1.50 times, at most 1.3",
    "disk: 10 MB beside 4 MB fresh, 2.50 times, at most 2",
  ]);
});

test("one sample taken in the middle of a collection does not decide", () => {
  assert.equal(medianOf([200, 201, 280, 199, 202]), 201);
});
