/**
 * Converts the objects of a request to the version that a webhook wants, and back: the room above uses objects in their
 * stored version.
 *
 *   the resource itself, status ...    converted between versions of the kind
 *   scale                              a Scale is made from the object, and written back to it: of a custom
 *                                      resource in the version that the webhook wants
 *   binding, eviction, token, exec     kinds of their own: the object is as it was sent
 */
import type { AnyObject, GroupVersionKind } from "#api/object.ts";
import { apiVersionOf } from "#api/object.ts";
import { applyDefaults } from "#api/defaults/apply.ts";
import type { Scale } from "#api/gen/types.ts";
import { applyScale, scaleFromObject } from "#api/convert/scale.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { checkKind } from "#apiserver/builtin-kind.ts";
import type { Catalog, ScaleAccess, ServedKind } from "#apiserver/kind.ts";

type Waited<T> = T | Promise<T>;

export interface ObjectView {
  toView(object: AnyObject): Waited<AnyObject>;
  /** Decodes and defaults `view` after a webhook's patch. @throws if it is no object of the kind. */
  fromView(view: AnyObject, object: AnyObject): Waited<AnyObject>;
}

/** Makes the view for `info` and `kind` of a candidate (matching/rule-index.ts). */
export function objectView(
  catalog: Pick<Catalog, "find">,
  info: ResourceInfo,
  kind: GroupVersionKind,
  subresource: string,
): ObjectView {
  const served = catalog.find(info.group, info.version, info.resource);
  if (subresource === "scale" && scaleKinds.has(`${info.group}/${info.resource}`))
    return scaleView(info);
  const scale = subresource === "scale" ? served?.custom?.scale : undefined;
  if (served !== undefined && scale !== undefined) return customScaleView(served, scale);
  if (served === undefined || kind.kind !== info.kind) return ownKindView(kind);
  const read = (view: AnyObject): AnyObject => {
    checkType(view, kind);
    return served.applyDefaults(served.check(view, undefined).object);
  };
  if (served.custom !== undefined) return customView(served, read);
  return {
    toView: (object) => served.fromStored(object),
    fromView: (view) => served.toStored(read(view)),
  };
}

/** Makes the view of custom objects, which are in the version of the request, not in the stored one. */
function customView(served: ServedKind, read: (view: AnyObject) => AnyObject): ObjectView {
  return {
    toView: (object) => converted(served, object, served.apiVersion),
    fromView: (view, object) => converted(served, read(view), object.apiVersion),
  };
}

function converted(served: ServedKind, object: AnyObject, apiVersion = ""): Waited<AnyObject> {
  if (object.apiVersion === apiVersion) return object;
  return served.convert?.(object, apiVersion) ?? { ...object, apiVersion };
}

function customScaleView(served: ServedKind, access: ScaleAccess): ObjectView {
  return {
    toView: async (object) => access.read(await converted(served, object, served.apiVersion)),
    async fromView(view, object) {
      checkType(view, scaleGvk);
      const scale = checkKind(scaleGvk, view, undefined).object;
      const before = await converted(served, object, served.apiVersion);
      return converted(served, access.write(before, scale), object.apiVersion);
    },
  };
}

const scaleKinds = new Set([
  "apps/deployments",
  "apps/replicasets",
  "apps/statefulsets",
  "/replicationcontrollers",
]);

function scaleView({ group, resource }: ResourceInfo): ObjectView {
  return {
    toView: (object) =>
      (scaleFromObject(group, resource, object) as AnyObject | undefined) ?? object, // a generated kind as a bag of fields
    fromView: (view, object) => {
      const { object: scale } = checkKind(scaleGvk, view, undefined);
      return applyScale(group, resource, object, scale as unknown as Scale) ?? object; // checked
    },
  };
}

const scaleGvk = { group: "autoscaling", version: "v1", kind: "Scale" };

function ownKindView(kind: GroupVersionKind): ObjectView {
  const { group, version } = kind;
  return {
    toView: (object) => object,
    fromView: (view) => {
      checkType(view, kind);
      if (schemaOfKind(kind) === undefined) return view;
      return applyDefaults(group, version, kind.kind, checkKind(kind, view, undefined).object);
    },
  };
}

/** Checks that a patch has not changed the object's kind. */
function checkType(view: AnyObject, kind: GroupVersionKind): void {
  const apiVersion = apiVersionOf(kind);
  if (view.apiVersion === apiVersion && view.kind === kind.kind) return;
  const given = `${String(view.apiVersion ?? "")}, Kind=${String(view.kind ?? "")}`;
  throw new Error(`the patched object is a ${given}, not a ${apiVersion}, Kind=${kind.kind}`);
}
