/**
 * Converts an object to another version of its kind. Few kinds have versions that differ in shape.
 * For all others the served versions agree, and conversion changes only `apiVersion`.
 */
import { ownEntry } from "#base/own.ts";
import * as device from "./convert-device.ts";
import { eventToCoreV1, eventToEventsV1 } from "./convert-event.ts";
import { hpaToV1, hpaToV2 } from "./convert-hpa.ts";
import type { AnyObject, ObjectMeta } from "../object.ts";

const conversions: Readonly<Record<string, (object: AnyObject) => AnyObject>> = {
  "HorizontalPodAutoscaler autoscaling/v1 autoscaling/v2": hpaToV2,
  "HorizontalPodAutoscaler autoscaling/v2 autoscaling/v1": hpaToV1,
  ...deviceConversions("v1"),
  ...deviceConversions("v1beta2"),
  "Event v1 events.k8s.io/v1": eventToEventsV1,
  "Event events.k8s.io/v1 v1": eventToCoreV1,
};

/** v1beta2 has the shape of v1. */
function deviceConversions(version: string): Record<string, (object: AnyObject) => AnyObject> {
  const group = "resource.k8s.io";
  const up = (kind: string): string => `${kind} ${group}/v1beta1 ${group}/${version}`;
  const down = (kind: string): string => `${kind} ${group}/${version} ${group}/v1beta1`;
  const at = (convertTo: (object: AnyObject) => AnyObject) => (object: AnyObject) => ({
    ...convertTo(object),
    apiVersion: `${group}/${version}`,
  });
  return {
    [up("ResourceClaim")]: at(device.claimToV1),
    [down("ResourceClaim")]: device.claimToV1beta1,
    [up("ResourceClaimTemplate")]: at(device.claimTemplateToV1),
    [down("ResourceClaimTemplate")]: device.claimTemplateToV1beta1,
    [up("ResourceSlice")]: at(device.sliceToV1),
    [down("ResourceSlice")]: device.sliceToV1beta1,
  };
}

/** Returns the same object if it already has that version. Does not change the given object. */
export function convert(object: AnyObject, toApiVersion: string): AnyObject {
  const { kind, apiVersion } = object;
  if (apiVersion === toApiVersion) return object;
  const known = ownEntry(conversions, `${kind ?? ""} ${apiVersion ?? ""} ${toApiVersion}`);
  return known === undefined ? { ...object, apiVersion: toApiVersion } : known(object);
}

/** An object reduced to its metadata, as `as=PartialObjectMetadata` asks for. */
export interface PartialObjectMetadata {
  readonly kind: "PartialObjectMetadata";
  readonly apiVersion: "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";
  readonly metadata: ObjectMeta;
}

export function partialObjectMetadata(
  object: AnyObject,
  apiVersion: PartialObjectMetadata["apiVersion"] = "meta.k8s.io/v1",
): PartialObjectMetadata {
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata ?? {} };
}
