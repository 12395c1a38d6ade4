/** Horizontal pod autoscalers of either version, and Scale. */
import { convert } from "../convert/convert.ts";
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
  Scale,
} from "../gen/types.ts";
import type { AnyObject } from "../object.ts";
import { quantityCell } from "./config.ts";
import { age, ageColumn, column, integer, nameColumn, nameOf, printer, text } from "./printer.ts";
import type { Printer } from "./printer.ts";

/** Metrics shown before "+ n more...". */
const shownMax = 2;

const inV2: Printer = printer<HorizontalPodAutoscaler>(
  [
    nameColumn,
    text("Reference", "What is scaled."),
    text("Targets", "Current and wanted values of the metrics."),
    text("MinPods", "How few pods there may be."),
    text("MaxPods", "How many pods there may be."),
    text("Replicas", "How many pods there are."),
    ageColumn,
  ],
  ({ spec, status, ...object }, nowMs) => [
    nameOf(object),
    `${spec?.scaleTargetRef.kind ?? ""}/${spec?.scaleTargetRef.name ?? ""}`,
    metricTargets(spec?.metrics ?? [], status?.currentMetrics ?? []),
    String(spec?.minReplicas ?? "<unset>"),
    spec?.maxReplicas ?? 0,
    status?.currentReplicas ?? 0,
    age(object, nowMs),
  ],
);

export const horizontalPodAutoscalers: Printer = {
  columns: inV2.columns,
  row: (object: AnyObject, nowMs: number) => inV2.row(convert(object, "autoscaling/v2"), nowMs),
};

function metricTargets(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return "<none>";
  const list = specs.map((spec, index) => metricTarget(spec, statuses[index]));
  const shown = list.slice(0, shownMax).join(", ");
  return list.length > shownMax ? `${shown} + ${list.length - shownMax} more...` : shown;
}

function metricTarget(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
      return valueTarget(spec.external?.target, status?.external?.current);
    case "Object":
      return valueTarget(spec.object?.target, status?.object?.current);
    case "Pods": {
      const current = unknownOr(status?.pods?.current.averageValue);
      return `${current}/${quantityCell(spec.pods?.target.averageValue)}`;
    }
    case "Resource":
      return resourceTarget(spec.resource, status?.resource?.current);
    case "ContainerResource":
      return resourceTarget(spec.containerResource, status?.containerResource?.current);
    default:
      return "<unknown type>";
  }
}

function unknownOr(quantity: string | undefined): string {
  return quantity === undefined ? "<unknown>" : quantityCell(quantity);
}

function valueTarget(
  target: MetricTarget | undefined,
  current: MetricValueStatus | undefined,
): string {
  if (target?.averageValue !== undefined) {
    return `${unknownOr(current?.averageValue)}/${quantityCell(target.averageValue)} (avg)`;
  }
  return `${unknownOr(current?.value)}/${quantityCell(target?.value)}`;
}

function resourceTarget(
  source: { readonly name: string; readonly target: MetricTarget } | undefined,
  current: MetricValueStatus | undefined,
): string {
  const { averageValue, averageUtilization } = source?.target ?? {};
  const name = source?.name ?? "";
  if (averageValue !== undefined) {
    return `${name}: ${unknownOr(current?.averageValue)}/${quantityCell(averageValue)}`;
  }
  const used = percent(current?.averageUtilization) ?? "<unknown>";
  return `${name}: ${used}/${percent(averageUtilization) ?? "<auto>"}`;
}

function percent(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}%`;
}

export const scales: Printer = printer<Scale>(
  [
    column("Name", "string", nameColumn.description),
    integer("Desired", "How many pods are wanted."),
    integer("Available", "How many pods there are."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec?.replicas ?? 0,
    object.status?.replicas ?? 0,
    age(object, nowMs),
  ],
);
