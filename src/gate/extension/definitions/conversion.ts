/**
 * Converts objects between the versions of one definition.
 *
 * None      the same fields under another apiVersion: synchronous, done where the object is read.
 * Webhook   a webhook converts, through a `Converter` (../conversion/webhook-converter.ts). Reads and watches hold its
 *           results while they use them (converted-objects.ts); writes give it one object.
 */
import type { AnyObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import type { Definition } from "./definition.ts";

export interface Converter {
  /** Returns equally many objects, in the same order, each in `apiVersion`. Rejects with ApiError. */
  convertMany(objects: readonly AnyObject[], apiVersion: string): Promise<readonly AnyObject[]>;
}

/** Returns the converter of a definition. Undefined: its strategy is None. */
export type ConverterOf = (definition: Definition) => Converter | undefined;

/** Refuses conversions, on servers that call no webhooks. Such objects are only served in the version in which they are stored. */
export const refusingConverter: ConverterOf = ({ spec }) => {
  if (spec.conversion?.strategy !== "Webhook") return undefined;
  const { group, names } = spec;
  return {
    convertMany(objects, apiVersion) {
      const [first] = objects;
      const from = `${first?.apiVersion ?? `${group}/?`}, Kind=${names.kind}`;
      const text = `conversion webhook for ${from} failed: no webhook client is configured (to ${apiVersion})`;
      return Promise.reject(failure(500, "InternalError", text));
    },
  };
};

/** Converts an object with strategy None. */
export function withApiVersion(object: AnyObject, apiVersion: string): AnyObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
