/** The metrics of a process: names and units are those that dashboards know. */
import assert from "node:assert/strict";
import { platform } from "node:process";
import { test } from "node:test";
import { readProcessFigures } from "./node/process-figures.ts";
import { processMetrics } from "./process-metrics.ts";

test("what the host does not tell is left out, the rest has a unit in its name", () => {
  const figures = readProcessFigures();
  const none = { virtualBytes: undefined, openFiles: undefined, openFilesMax: undefined };
  const names = processMetrics({ ...figures, ...none }).map(({ name }) => name);
  assert.deepEqual(names, [
    "process_cpu_seconds_total",
    "nodejs_eventloop_busy_seconds_total",
    "go_goroutines",
    "process_resident_memory_bytes",
    "pilothouse_connections",
    "pilothouse_dialed_connections",
    "pilothouse_connections_max",
    "pilothouse_connections_closed_total",
    "process_start_time_seconds",
    "nodejs_heap_size_used_bytes",
    "nodejs_heap_size_total_bytes",
    "nodejs_external_memory_bytes",
    "nodejs_array_buffers_bytes",
  ]);
});

test("the figures of this process are those of a process", () => {
  const { residentBytes, startSeconds, heapUsedBytes, heapTotalBytes } = readProcessFigures();
  assert.ok(residentBytes > heapTotalBytes && heapTotalBytes >= heapUsedBytes);
  assert.ok(Math.abs(startSeconds + process.uptime() - Date.now() / 1000) < 5);
  const kept = new Uint8Array(50e6);
  assert.ok(readProcessFigures().arrayBufferBytes >= kept.length);
});

const skip = platform !== "linux" && "only Linux's /proc tells";

test("Linux tells of virtual memory and descriptors, too", { skip }, () => {
  const { virtualBytes = 0, residentBytes, openFiles = 0, openFilesMax = 0 } = readProcessFigures();
  assert.ok(virtualBytes > residentBytes);
  assert.ok(openFiles >= 3 && openFilesMax > openFiles);
});
