/** What a busy time left is given back, in a role that has a process of its own. */
import type { Clock } from "#platform/clock.ts";
import { nodeMemory } from "#platform/node/spare-memory.ts";
import { SpareMemory, spareMemoryDefaults } from "#platform/spare-memory.ts";

/** When the role is ready: what it has then is what it has when there is nothing to give back. */
export function giveMemoryBack(clock: Clock): SpareMemory {
  return new SpareMemory({ clock, host: nodeMemory }, spareMemoryDefaults);
}
