/**
 * What this process takes, from Node and from Linux's /proc; elsewhere without what only that tells.
 * Cost: 0.1 ms, most of it the list of descriptors.
 */
import { readdirSync } from "node:fs";
import { openFilesMax, procFile, tryTo } from "./open-files.ts";
import { processConnections } from "./process-connections.ts";
import type { ProcessFigures } from "../process-metrics.ts";

export function readProcessFigures(): ProcessFigures {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    loopBusySeconds: performance.eventLoopUtilization().active / 1000,
    residentBytes: rss,
    virtualBytes: virtualBytes(),
    openFiles: tryTo(() => readdirSync("/proc/self/fd").length - 1),
    openFilesMax: openFilesMax(),
    activeResources: process.getActiveResourcesInfo().length,
    connections: processConnections.count,
    dialed: processConnections.dialedCount,
    connectionsMax: processConnections.limits.connectionsMax,
    connectionsClosed:
      processConnections.closedCount("anonymous") + processConnections.closedCount("user"),
    startSeconds: startSeconds(),
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    externalBytes: external - arrayBuffers,
    arrayBufferBytes: arrayBuffers,
  };
}

/** Returns the start time of the process, rounded, so that each reading gives the same value. */
function startSeconds(): number {
  return Math.round((performance.timeOrigin / 1000) * 100) / 100;
}

function virtualBytes(): number | undefined {
  return kilobytes(/^VmSize:\s+(\d+) kB$/m.exec(tryTo(() => procFile("status")) ?? ""));
}

function kilobytes(found: RegExpExecArray | null): number | undefined {
  return found === null ? undefined : Number(found[1]) * 1024;
}
