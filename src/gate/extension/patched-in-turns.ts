/** A JSON patch that a policy or a webhook made: its steps give way to others. */
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import { JsonPatchRun } from "#api/patch/json-patch.ts";
import { hasValues } from "#api/json/value-count.ts";
import type { Clock } from "#platform/clock.ts";
import { nextTurn } from "#platform/pace.ts";

/** The object is not changed. @throws ApiError */
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

/** A step over an object of 500 values takes up to a millisecond. */
const longValuesMin = 500;

/** Between two steps over an object: when it is large, the loop serves others. */
export async function giveWay(clock: Clock, object: AnyObject): Promise<void> {
  if (hasValues(object, longValuesMin)) await nextTurn(clock);
}
