/** What a busy time left is given back, in a role that has a process of its own. */
import type { Clock } from "#platform/clock.ts";
import { nodeMemory } from "#platform/node/spare-memory.ts";
import { SpareMemory, spareMemoryDefaults } from "#platform/spare-memory.ts";
import type { Parts } from "./parts.ts";

/** Opened when the role is ready: what it has then is what it has when there is nothing to give back. */
export async function openSpareMemory(clock: Clock, parts: Parts): Promise<void> {
  const make = (): SpareMemory => new SpareMemory({ clock, host: nodeMemory }, spareMemoryDefaults);
  await parts.open("spare-memory", make, { close: (spare) => spare.stop() });
}
