/** Waits for what happens in other processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { progress } from "./store/table.ts";

const lookEveryMs = 250;
const toldEveryMs = 10_000;
const waitMsMax = 600_000;

/** Resolves to what `look` finds; throws with `what` when it never does. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  const beganMs = performance.now();
  let toldMs = beganMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    const nowMs = performance.now();
    if (nowMs - beganMs > waitMsMax) throw new Error(`it never came: ${what}`);
    if (nowMs - toldMs > toldEveryMs) progress(`waits for ${what}`);
    if (nowMs - toldMs > toldEveryMs) toldMs = nowMs;
    await sleep(lookEveryMs);
  }
}
