/** Makes OpenAPI documents in one go for tests; the server makes them in turns. */
import { allSteps } from "#base/steps.ts";
import type { JsonObject } from "#api/object.ts";
import { openapiV2Steps, openapiV3Steps } from "../documents.ts";
import type { ApiSurface } from "../model.ts";
import { openapiV3ProtobufSteps } from "../proto-v3.ts";

/** @returns undefined for a name not in `openapiV3Names`. */
export function openapiV3Document(surface: ApiSurface, name: string): JsonObject | undefined {
  return allSteps(openapiV3Steps(surface, name));
}

export function openapiV2Document(surface: ApiSurface): JsonObject {
  return allSteps(openapiV2Steps(surface));
}

export function encodeOpenapiV3(document: JsonObject): Uint8Array {
  return allSteps(openapiV3ProtobufSteps(document));
}
