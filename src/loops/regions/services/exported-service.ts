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

/** Before what several regions say is compared. */
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

/** Labels or annotations that the export names to go along. */
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

/** The oldest counts in a conflict; of two of one second the first by name. */
export function byAge(a: ExportedService, b: ExportedService): number {
  const [one, other] = [ageOf(a), ageOf(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function ageOf({ object, region }: ExportedService): string {
  // Times of the API sort as texts.
  return `${object.metadata?.creationTimestamp ?? ""} ${region}`;
}
