/** The audit sinks of all threads, in the first thread. Events are stored in the order of their arrival. */
import type { StagedEvent } from "#server/audit/event.ts";
import type { Audit } from "#server/audit/trail.ts";
import type { ForwardedEvent, StoredEvent, ToWorker } from "./messages.ts";

type Reply = (message: Extract<ToWorker, { kind: "stored" }>) => void;

/** Stores events. `reply` gets one message for all events that were stored at once. */
export function storeEvents(
  { backends }: Audit,
  events: readonly ForwardedEvent[],
  reply: Reply,
): void {
  const problem = (): string =>
    backends.map((one) => one.problem?.()).find((one) => one !== undefined) ?? "";
  const tell = (stored: readonly StoredEvent[]): void => {
    if (stored.length > 0) reply({ kind: "stored", events: stored, problem: problem() });
  };
  const atOnce: StoredEvent[] = [];
  for (const event of events) {
    const lost: (readonly [string, boolean])[] = [];
    const { id } = event;
    const all = backends.map((backend) =>
      taken(() => backend.take(staged(event), (...one) => void lost.push(one))),
    );
    if (all.every((one) => one === true)) atOnce.push({ id, isStored: true, lost });
    else void allStored(all).then((isStored) => tell([{ id, isStored, lost }]));
  }
  tell(atOnce);
}

async function allStored(all: readonly (boolean | Promise<boolean>)[]): Promise<boolean> {
  const stored = await Promise.all(all.map((one) => Promise.resolve(one)));
  return stored.every(Boolean);
}

/** A sink that fails does not fail a request, as in `AuditTrail`. */
function taken(take: () => boolean | Promise<boolean>): boolean | Promise<boolean> {
  try {
    const stored = take();
    return typeof stored === "boolean" ? stored : stored.catch(() => true);
  } catch {
    return true;
  }
}

function staged({
  stage,
  level,
  writer,
  json,
  truncatedJson,
  legacy,
}: ForwardedEvent): StagedEvent {
  return {
    stage,
    level,
    writer,
    json: () => json,
    truncatedJson: () => truncatedJson,
    legacy: () => legacy,
  };
}
