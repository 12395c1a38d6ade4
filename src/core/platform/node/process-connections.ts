/**
 * The connections of this process, of all its listeners and those that it dials, below its limit of open files.
 * Node raises the soft limit to the hard one when it starts.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import {
  type ClosedFor,
  type ConnectionAccount,
  ConnectionBudget,
  connectionLimits,
} from "../connection-budget.ts";
import type { Log } from "../log.ts";
import { openFilesMax } from "./open-files.ts";

/** Number of open files below which many clients do not fit; the log warns of it at the start. */
const lowOpenFiles = 4_096;
/** Assumed where the host does not give its limit. */
const unknownOpenFiles = 65_536;
const raiseHint = "raise LimitNOFILE of the unit, the container's nofile, or ulimit -Hn";
const tellEveryMs = 1_000;

const openFiles = openFilesMax();

export const processConnections = new ConnectionBudget(
  connectionLimits(openFiles ?? unknownOpenFiles),
);

/** Logs a warning if the limit is low. Call it at the start of a process that serves. */
export function warnOfFewOpenFiles(log: Log): void {
  if (openFiles === undefined || openFiles >= lowOpenFiles) return;
  const { connectionsMax } = processConnections.limits;
  log.warn("the limit of open files is low", {
    openFilesMax: openFiles,
    connectionsMax,
    hint: raiseHint,
  });
}

/**
 * Counts every socket that this process connects from now on. The host reports all of them, those of libraries
 * included. Call once, at the start.
 */
export function countDialed(): void {
  subscribe("net.client.socket", onDialed);
}

function onDialed(message: unknown): void {
  const { socket } = message as { readonly socket: Socket }; // as node:diagnostics_channel documents it
  socket.once("close", processConnections.dial());
}

let quietUntilMs = 0;
let closedSince = 0;

/** Counts a socket. The caller must call `leave` when it closes. A surplus socket is destroyed, now or later. */
export function countSocket(socket: Socket, log: Log): ConnectionAccount {
  const account = processConnections.admit((reason) => {
    socket.destroy();
    tell(log, reason);
  });
  if (processConnections.isNearlyFull) warnNearlyFull(log);
  return account;
}

/** Minimum time between two warnings, because the number of connections may vary around the mark. */
const nearlyFullEveryMs = 60_000;
let nearlyFullQuietUntilMs = 0;

function warnNearlyFull(log: Log): void {
  const nowMs = performance.now();
  if (nowMs < nearlyFullQuietUntilMs) return;
  nearlyFullQuietUntilMs = nowMs + nearlyFullEveryMs;
  const { count, dialedCount, limits } = processConnections;
  log.warn("connections take 80 % of the open files that this process may have", {
    connections: count,
    dialed: dialedCount,
    connectionsMax: limits.connectionsMax,
    openFilesMax: openFiles ?? unknownOpenFiles,
    hint: raiseHint,
  });
}

function tell(log: Log, reason: ClosedFor): void {
  closedSince++;
  const nowMs = performance.now();
  if (nowMs < quietUntilMs) return;
  quietUntilMs = nowMs + tellEveryMs;
  const { count, anonymousCount, limits } = processConnections;
  const what =
    reason === "anonymous"
      ? "connections without credentials were closed: there are too many"
      : "connections of the user with most were closed: there are too many";
  log.warn(what, {
    closed: closedSince,
    connections: count,
    anonymous: anonymousCount,
    connectionsMax: limits.connectionsMax,
  });
  closedSince = 0;
}
