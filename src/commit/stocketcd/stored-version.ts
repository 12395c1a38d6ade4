/**
 * Values in the version in which this server stores their kind.
 *
 * Upstream stores a few kinds in another version than ours, so that an older server can read them after a
 * step back: definitions in v1beta1, which nothing serves any more, and mutating policies in v1beta1.
 * What we write in v1 upstream reads.
 */
import { convert } from "#api/convert/convert.ts";
import { apiVersionOf, parseApiVersion, type AnyObject } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { definitionToV1 } from "./definition-v1beta1.ts";

/** By group and kind: apiVersion in which the objects are stored. */
const storedAs: ReadonlyMap<string, string> = new Map(
  builtinResources().flatMap(({ group, kind, storage }) =>
    storage === undefined ? [] : [[`${group}/${kind}`, apiVersionOf(storage)] as const],
  ),
);

/** Returns the object in its stored version; the same object when it has that version already, or is not built in. */
export function inStoredVersion(object: AnyObject): AnyObject {
  const { apiVersion = "", kind = "" } = object;
  const wanted = storedAs.get(`${parseApiVersion(apiVersion)?.group ?? ""}/${kind}`);
  if (wanted === undefined || wanted === apiVersion) return object;
  if (apiVersion === "apiextensions.k8s.io/v1beta1") return definitionToV1(object);
  return convert(object, wanted);
}
