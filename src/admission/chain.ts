/**
 * The chain of plugins: every mutating pass in order, and later every validating pass in order.
 *
 * Holds  the first refusal ends the chain; a failed write is unreserved in all plugins, in reverse.
 * Cost   a plugin without the hook is skipped when the chain is made, not on each request; one that
 *        answers at once is not waited for.
 */
import { assert } from "#base/assert.ts";
import type { AnyObject } from "#api/object.ts";
import type { Admission, AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export function createAdmission(plugins: readonly AdmissionPlugin[]): Admission {
  const mutating = plugins.filter((plugin) => plugin.mutate !== undefined);
  const validating = plugins.filter((plugin) => plugin.validate !== undefined);
  const reserving = plugins.filter((plugin) => plugin.unreserve !== undefined).toReversed();
  return {
    async mutate(request: AdmissionRequest): Promise<AnyObject> {
      assert(request.object !== undefined, "mutating admission needs an object", {
        operation: request.operation,
      });
      let object = request.object;
      const attempt = request.attempt ?? request;
      let seen = { ...request, attempt };
      for (const plugin of mutating) {
        if (object !== seen.object) seen = { ...request, attempt, object };
        const answer = plugin.mutate?.(seen);
        object = (answer instanceof Promise ? await answer : answer) ?? object;
      }
      return object;
    },
    async validate(request: AdmissionRequest): Promise<void> {
      const whole = { ...request, attempt: request.attempt ?? request };
      for (const plugin of validating) {
        const answer = plugin.validate?.(whole);
        if (answer instanceof Promise) await answer;
      }
    },
    unreserve(request: AdmissionRequest): void {
      const whole = { ...request, attempt: request.attempt ?? request };
      for (const plugin of reserving) plugin.unreserve?.(whole);
    },
  };
}
