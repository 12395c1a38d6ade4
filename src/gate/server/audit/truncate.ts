/** Shrinks events that are too large for their sink: first without bodies, then not at all, as upstream's plugin truncate. */
import type { StagedEvent } from "./event.ts";
import type { TakeLost } from "./trail.ts";

export interface TruncateLimits {
  /** Maximum bytes of one event. */
  readonly eventBytesMax: number;
}

/** Bytes that upstream counts in addition to the text: kind, apiVersion, braces and the line end. */
const headBytes = 54;

/** The event's fields. @returns undefined when it is too large even without bodies; then it is lost. */
export function truncated(
  event: StagedEvent,
  limits: TruncateLimits | undefined,
  lost: TakeLost,
): string | undefined {
  const whole = event.json();
  if (limits === undefined || isWithin(whole, limits)) return whole;
  const hasBodies = event.level === "Request" || event.level === "RequestResponse";
  const bare = hasBodies ? event.truncatedJson() : whole;
  if (isWithin(bare, limits)) return bare;
  lost("truncate", event.writer.isStranger);
  return undefined;
}

function isWithin(json: string, { eventBytesMax }: TruncateLimits): boolean {
  const most = eventBytesMax - headBytes;
  return json.length * 3 <= most || Buffer.byteLength(json) <= most;
}
