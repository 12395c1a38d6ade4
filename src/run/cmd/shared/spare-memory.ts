/** Returns memory to the system after a busy time, in a role with its own process. */
import type { Clock } from "#platform/clock.ts";
import { nodeMemory } from "#platform/node/spare-memory.ts";
import { SpareMemory, spareMemoryDefaults } from "#platform/spare-memory.ts";
import type { Parts } from "./parts.ts";

/** Call this when the role is ready, because its memory at that time is the baseline with nothing to return. */
export async function openSpareMemory(clock: Clock, parts: Parts): Promise<void> {
  const make = (): SpareMemory => new SpareMemory({ clock, host: nodeMemory }, spareMemoryDefaults);
  await parts.open("spare-memory", make, { close: (spare) => spare.stop() });
}
