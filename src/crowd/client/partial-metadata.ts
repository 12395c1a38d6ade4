/**
 * Objects reduced to their metadata: the Accept header that requests this, and the reduction of answers.
 *
 * Holds  whatever the server sent, the caller gets apiVersion, kind and metadata and nothing else: the
 *        direct transport and servers without the transform answer with whole objects.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { ListOf, WatchedEvent } from "./client.ts";

const apiVersion = "meta.k8s.io/v1";

/** As in client-go, plain JSON comes last, so that a server without the transform answers instead of refusing. */
export function partialType(kind: "PartialObjectMetadata" | "PartialObjectMetadataList"): string {
  return `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
}

export function partialList<T extends KubeObject>(list: ListOf<T>): ListOf<T> {
  const items = list.items.map((item) => partialObject(item) as T);
  const type = { apiVersion, kind: "PartialObjectMetadataList" };
  return { ...list, ...type, items };
}

export function partialEvent(event: WatchedEvent<AnyObject>): WatchedEvent<AnyObject> {
  if (event.type === "ERROR") return event;
  return { type: event.type, object: partialObject(event.object) as AnyObject };
}

function partialObject({ metadata }: KubeObject): KubeObject {
  return { apiVersion, kind: "PartialObjectMetadata", metadata: metadata ?? {} };
}
