/**
 * One mutation of a policy: applies the result of its expression to the object.
 *
 * Holds  a failed `test` leaves the object unchanged. The result is decoded and defaulted like a client's object.
 * Texts as upstream's pkg/admission/plugin/policy/mutating/patch.
 */
import { parseExactJson } from "#base/exact-json.ts";
import type { StructShape } from "#api/apply/shape.ts";
import type { AnyObject, JsonValue } from "#api/object.ts";
import { refuseBeyondLimits } from "#api/json/object-limits.ts";
import { failure } from "#api/status.ts";
import { type Clock } from "#platform/clock.ts";
import { nextTurn } from "#platform/pace.ts";
import { patchedInTurns } from "../patched-in-turns.ts";
import type { ObjectView } from "../webhooks/object-view.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import type { MadeMutation } from "./made-mutation.ts";

/** Conversion of a request's object to the form that the policy sees, and back. */
export interface MutationTarget {
  readonly view: ObjectView;
  /** Returns the merge schema. Undefined: objects of the kind have none. */
  readonly shape: () => StructShape | undefined;
}

/** Maximum characters of a short result. A longer one is read and applied in a separate turn. */
const shortMax = 8 * 1024;

/** @throws Error in upstream's words, ApiError. */
export async function applyMutation(
  clock: Clock,
  made: MadeMutation,
  { view, shape }: MutationTarget,
  object: AnyObject,
): Promise<AnyObject> {
  if (made.kind === "error") throw new Error(made.message);
  const before = await view.toView(object);
  const isLong = made.json.length > shortMax;
  if (isLong) await nextTurn(clock);
  const value = parseExactJson(made.json) as JsonValue; // printed from one
  if (isLong) await nextTurn(clock);
  const after =
    made.kind === "patch"
      ? await patched(clock, before, value)
      : configured(before, value, shape());
  if (after === before) return object;
  if (isLong) await nextTurn(clock);
  refuseBeyondLimits(after);
  return await view.fromView(after, object);
}

function configured(
  before: AnyObject,
  value: JsonValue,
  shape: StructShape | undefined,
): AnyObject {
  if (shape === undefined) {
    const kind = `${String(before.apiVersion)}, Kind=${String(before.kind)}`;
    const text = `Resource kind ${kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`;
    throw failure(503, "ServiceUnavailable", text, {});
  }
  return applyConfiguration(before, value as AnyObject, shape); // made of an `Object{...}`
}

async function patched(clock: Clock, before: AnyObject, patch: JsonValue): Promise<AnyObject> {
  try {
    return await patchedInTurns(clock, before, patch);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : String(cause);
    if (isFailedTest(why)) return before;
    throw new Error(`JSON Patch: ${why}`, { cause: error });
  }
}

function isFailedTest(message: string): boolean {
  return /test(?:ing|\b).*failed/i.test(message);
}
