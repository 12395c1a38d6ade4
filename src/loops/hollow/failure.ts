/**
 * What is wrong with a hollow node, by a word: in the annotation `pilothouse.dev/failure` of its Node, or in a schedule.
 *
 *   crash, partition      nothing is heard of it: no lease, no status, its pods stand still
 *   flap[:DURATION]       silent and heard in turn, 30 s each
 *   slow[:COUNT]          it renews at every COUNTth heartbeat, 4
 *   disk-pressure         DiskPressure is True
 *   clock-skew:DURATION   its clock is ahead, or with `-` behind
 */
import { parseGoDuration } from "#api/go/go-duration.ts";

export const failureAnnotation = "pilothouse.dev/failure";

export type Failure =
  | { readonly kind: "silent" }
  | { readonly kind: "flap"; readonly periodMs: number }
  | { readonly kind: "slow"; readonly beats: number }
  | { readonly kind: "disk-pressure" }
  | { readonly kind: "clock-skew"; readonly skewMs: number };

const flapMs = 30_000;
const flapMsMin = 1_000;
const slowBeats = 4;
const slowBeatsMax = 1_000;
const skewMsMax = 10 * 365 * 86_400_000;

/** Shared objects, because there may be 50,000 nodes. */
const silent: Failure = { kind: "silent" };
const diskPressure: Failure = { kind: "disk-pressure" };

export const failureForms =
  "crash, partition, flap[:DURATION], slow[:COUNT], disk-pressure, clock-skew:DURATION";

/** Undefined: the text is not a known failure. */
export function parseFailure(text: string): Failure | undefined {
  const [word = "", argument = ""] = text.split(":", 2);
  const ms = argument === "" ? undefined : parseGoDuration(argument);
  switch (word) {
    case "crash":
    case "partition":
      return argument === "" ? silent : undefined;
    case "disk-pressure":
      return argument === "" ? diskPressure : undefined;
    case "flap": {
      const periodMs = argument === "" ? flapMs : ms;
      return periodMs !== undefined && periodMs >= flapMsMin
        ? { kind: "flap", periodMs }
        : undefined;
    }
    case "slow": {
      const beats = argument === "" ? slowBeats : Number(argument);
      return Number.isInteger(beats) && beats >= 2 && beats <= slowBeatsMax
        ? { kind: "slow", beats }
        : undefined;
    }
    case "clock-skew":
      return ms !== undefined && Math.abs(ms) <= skewMsMax
        ? { kind: "clock-skew", skewMs: ms }
        : undefined;
    default:
      return undefined;
  }
}

/** Whether the node is silent at this time. */
export function isSilent(failure: Failure | undefined, nowMs: number): boolean {
  if (failure === undefined) return false;
  if (failure.kind === "silent") return true;
  return failure.kind === "flap" && Math.floor(nowMs / failure.periodMs) % 2 === 0;
}

export function skewOf(failure: Failure | undefined): number {
  return failure?.kind === "clock-skew" ? failure.skewMs : 0;
}
