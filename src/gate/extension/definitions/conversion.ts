/**
 * Objects between the versions of one definition.
 *
 * None      the same fields under another apiVersion: no wait, done where the object is read.
 * Webhook   somebody else converts: a `Converter` (../conversion/webhook-converter.ts). Reads and watches
 *           hold what it made while they use it (converted-objects.ts), writes hand it one object.
 */
import type { AnyObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import type { Definition } from "./definition.ts";

export interface Converter {
  /** As many objects, in their order, each in `apiVersion`. Rejects with ApiError. */
  convertMany(objects: readonly AnyObject[], apiVersion: string): Promise<readonly AnyObject[]>;
}

/** Absent result: the strategy is None. */
export type ConverterOf = (definition: Definition) => Converter | undefined;

/** For servers that call no webhooks: objects of such a definition are served in the version they are stored in. */
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

/** Strategy None. */
export function withApiVersion(object: AnyObject, apiVersion: string): AnyObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
