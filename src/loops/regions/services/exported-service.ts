/**
 * A ServiceExport of a region with its Service, as they are read, and whether it counts.
 *
 * After  KEP-1645: conditions Valid, Ready and Conflict of an export, with the API's reasons (multicluster.x-k8s.io).
 */
import type { EndpointSlice, Service } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { Condition } from "#client/conditions.ts";

export interface ServiceExport extends KubeObject {
  readonly spec?: unknown;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface ExportedService {
  readonly region: string;
  readonly object: ServiceExport;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

interface Verdict {
  readonly isValid: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Checks one export by itself, before the exports of several regions are compared. */
export function verdictOf(service: Service | undefined): Verdict {
  if (service === undefined) {
    return { isValid: false, reason: "NoService", message: "there is no Service of that name" };
  }
  if (service.spec?.type === "ExternalName") {
    const message = "a Service of type ExternalName cannot be exported";
    return { isValid: false, reason: "InvalidServiceType", message };
  }
  return { isValid: true, reason: "Valid", message: "" };
}

/** Returns the labels or annotations that the export asks to copy to the import. */
export function exportedMarks(
  { spec }: ServiceExport,
  field: "exportedLabels" | "exportedAnnotations",
): Readonly<Record<string, string>> {
  const marks = isRecord(spec) ? spec[field] : undefined;
  if (!isRecord(marks)) return {};
  const texts = Object.entries(marks).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}

/** Sorts by age, because the oldest export wins a conflict. Exports of the same second are sorted by region name. */
export function byAge(a: ExportedService, b: ExportedService): number {
  const [one, other] = [ageOf(a), ageOf(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function ageOf({ object, region }: ExportedService): string {
  // Timestamps of the API sort as text.
  return `${object.metadata?.creationTimestamp ?? ""} ${region}`;
}
