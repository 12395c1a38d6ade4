/**
 * One object in another version of its kind. Only two kinds have versions that differ in shape;
 * for all others the versions we serve agree, and conversion changes `apiVersion` alone.
 */
import { eventToCoreV1, eventToEventsV1 } from "./convert-event.ts";
import { hpaToV1, hpaToV2 } from "./convert-hpa.ts";
import type { AnyObject, ObjectMeta } from "./object.ts";

const conversions: Readonly<Record<string, (object: AnyObject) => AnyObject>> = {
  "HorizontalPodAutoscaler autoscaling/v1 autoscaling/v2": hpaToV2,
  "HorizontalPodAutoscaler autoscaling/v2 autoscaling/v1": hpaToV1,
  "Event v1 events.k8s.io/v1": eventToEventsV1,
  "Event events.k8s.io/v1 v1": eventToCoreV1,
};

/** The same object if it already has that version. The object given is not changed. */
export function convert(object: AnyObject, toApiVersion: string): AnyObject {
  const { kind, apiVersion } = object;
  if (apiVersion === toApiVersion) return object;
  const known = conversions[`${kind ?? ""} ${apiVersion ?? ""} ${toApiVersion}`];
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
