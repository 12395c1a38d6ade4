/** Applies a JSON patch from a policy or a webhook. Other work may run between its steps. */
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import { JsonPatchRun } from "#api/patch/json-patch.ts";
import { hasValues } from "#api/json/value-count.ts";
import type { Clock } from "#platform/clock.ts";
import { nextTurn } from "#platform/pace.ts";

/** Returns a patched copy. @throws ApiError */
export async function patchedInTurns(
  clock: Clock,
  object: AnyObject,
  patch: JsonValue,
): Promise<AnyObject> {
  const run = new JsonPatchRun(object as unknown as JsonObject, patch); // objects are plain JSON data
  while (!run.isDone) {
    run.step();
    if (!run.isDone) await nextTurn(clock);
  }
  const patched = run.result() as AnyObject; // what the decoder looks at next
  await giveWay(clock, patched);
  return patched;
}

/** Number of values that make an object large: a step over 500 values takes up to a millisecond. */
const longValuesMin = 500;

/** Lets other work run between two steps if the object is large. */
export async function giveWay(clock: Clock, object: AnyObject): Promise<void> {
  if (hasValues(object, longValuesMin)) await nextTurn(clock);
}
