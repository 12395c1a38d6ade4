/** Events that are too large for their sink: bodies go first, then the event itself, as upstream's plugin truncate. */
import type { StagedEvent } from "./event.ts";
import type { TakeLost } from "./trail.ts";

export interface TruncateLimits {
  /** Bytes of one event. */
  readonly eventBytesMax: number;
}

/** What upstream's size counts beside the text: kind, apiVersion, braces and the end of the line. */
const headBytes = 54;

/** The event's fields; undefined: it is too large without its bodies, too, and is lost. */
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
