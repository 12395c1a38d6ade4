/**
 * The chain of plugins: runs the mutating hooks in order, and later the validating hooks in order.
 *
 * Holds  the first refusal ends the chain. A failed write is unreserved in all plugins, in reverse order. The mutating
 *        pass runs a second time when a plugin asked for it, never more often.
 * Cost   a plugin without the hook is skipped when the chain is made, not on each request. A synchronous plugin is not
 *        awaited.
 */
import { assert } from "#base/assert.ts";
import type { AnyObject } from "#api/object.ts";
import type { Admission, AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionMetrics, PassTimes } from "./metrics.ts";
import { Reinvocation } from "./reinvocation.ts";

/** @param metrics absent: no times are recorded. */
export function createAdmission(
  plugins: readonly AdmissionPlugin[],
  metrics?: AdmissionMetrics,
): Admission {
  const mutating = plugins.filter((plugin) => plugin.mutate !== undefined);
  const judging = plugins.filter((plugin) => plugin.judge !== undefined);
  const validating = plugins.filter((plugin) => plugin.validate !== undefined);
  const reserving = plugins.filter((plugin) => plugin.unreserve !== undefined).toReversed();
  return {
    async mutate(request: AdmissionRequest): Promise<AnyObject> {
      assert(request.object !== undefined, "mutating admission needs an object", {
        operation: request.operation,
      });
      const reinvocation = new Reinvocation();
      const whole = { ...request, attempt: request.attempt ?? request, reinvocation };
      const first = request.object;
      return timed(metrics?.begin("admit", request.operation), async (times) => {
        const object = await mutateOnce(mutating, whole, first, times);
        return reinvocation.begin() ? mutateOnce(mutating, whole, object, times) : object;
      });
    },
    async validate(request: AdmissionRequest): Promise<void> {
      const whole = { ...request, attempt: request.attempt ?? request };
      if (request.object === undefined) {
        await timed(metrics?.begin("admit", request.operation), async (times) => {
          for (const plugin of judging) {
            times?.next(plugin.name);
            const answer = plugin.judge?.(whole);
            if (answer instanceof Promise) await answer;
          }
        });
      }
      await timed(metrics?.begin("validate", request.operation), async (times) => {
        for (const plugin of validating) {
          times?.next(plugin.name);
          const answer = plugin.validate?.(whole);
          if (answer instanceof Promise) await answer;
        }
      });
    },
    async unreserve(request: AdmissionRequest): Promise<void> {
      const whole = { ...request, attempt: request.attempt ?? request };
      for (const plugin of reserving) {
        const answer = plugin.unreserve?.(whole);
        if (answer instanceof Promise) await answer;
      }
    },
  };
}

async function timed<Answer>(
  times: PassTimes | undefined,
  run: (times: PassTimes | undefined) => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await run(times);
    times?.end(false);
    return answer;
  } catch (error) {
    times?.end(true);
    throw error;
  }
}

async function mutateOnce(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  first: AnyObject,
  times: PassTimes | undefined,
): Promise<AnyObject> {
  let object = first;
  let seen = { ...request, object };
  for (const plugin of plugins) {
    if (object !== seen.object) seen = { ...request, object };
    times?.next(plugin.name);
    const answer = plugin.mutate?.(seen);
    object = (answer instanceof Promise ? await answer : answer) ?? object;
  }
  return object;
}
