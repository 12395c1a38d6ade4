/** What server-side apply needs to know of a custom resource, from its schemas. */
import type { AnyObject } from "../object.ts";
import type { ApplyTypes } from "../apply/updater.ts";
import type { Structural } from "./structural.ts";

export interface CustomTypeSource {
  /** null: the version is served and has no schema. undefined: it is not served. */
  readonly structural: (apiVersion: string) => Structural | null | undefined;
  readonly convert: (object: AnyObject, apiVersion: string) => AnyObject;
}

/** Make it once per definition; it keeps the shapes it makes. */
export function structuralApplyTypes(_source: CustomTypeSource): ApplyTypes {
  throw new Error("not yet");
}

