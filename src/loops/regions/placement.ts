/**
 * A Placement as the coordinator reads it: which objects of its namespace go to which regions, and what moves when.
 *
 * The schema (definitions/placement-schema.ts) refuses most mistakes when it is written; what is read here is still
 * foreign: a field of another type counts as absent.
 */
import { parseApiVersion, type AnyObject, type KubeObject } from "#api/object.ts";
import {
  selectorFromLabelSelector,
  type LabelSelectorSpec,
} from "#api/selectors/label-selector.ts";
import { given } from "#base/given.ts";
import { isRecord } from "#base/is-record.ts";
import type { ResourceRef } from "#client/client.ts";

export interface Placement extends KubeObject {
  readonly spec?: unknown;
  readonly status?: PlacementStatus;
}

/** The decision; it is written before any region receives a request. */
export interface PlacementStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly PlacementCondition[];
  /** Regions for objects that are copied without being divided. */
  readonly regions?: readonly string[];
  /** Kinds that were ever placed, such as `apps/v1/deployments`; their leftovers are searched for. */
  readonly kinds?: readonly string[];
  /** Objects with replicas, and the regions that run them. */
  readonly objects?: readonly PlacedObject[];
}

interface PlacementCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

export interface PlacedObject {
  /** Kind and name, for example `Deployment/web`. */
  readonly object: string;
  readonly uid: string;
  readonly regions: readonly RegionShare[];
  readonly unplaced?: number;
  /** For a whole workload: the region that must be empty before the workload starts in `regions`. */
  readonly from?: string;
}

interface RegionShare {
  readonly name: string;
  readonly replicas: number;
}

interface ObjectSelector {
  readonly ref: ResourceRef;
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent: objects are selected by `labels`. */
  readonly name?: string;
  readonly labels: LabelSelectorSpec;
}

interface RegionBounds {
  readonly weight?: number;
  readonly min?: number;
  readonly max?: number;
}

export interface Override {
  /** Empty: all regions. */
  readonly regions: readonly string[];
  readonly selector: LabelSelectorSpec;
  /** Empty: every kind. */
  readonly kind: string;
  /** JSON patch (RFC 6902). */
  readonly patches: readonly unknown[];
}

export type Dependency = "ConfigMap" | "Secret" | "ServiceAccount";

export interface PlacementSpec {
  readonly resources: readonly ObjectSelector[];
  readonly dependencies: readonly Dependency[];
  readonly selector: LabelSelectorSpec;
  readonly weights: "Equal" | "FreeCapacity" | "Cost";
  readonly each: RegionBounds;
  readonly named: ReadonlyMap<string, RegionBounds>;
  /** Key of the region label to spread by; "": no spreading. */
  readonly spreadBy: string;
  /** Names of placements of the same namespace: `with` restricts this one to their regions, `apart` excludes their regions. */
  readonly with: readonly string[];
  readonly apart: readonly string[];
  readonly overrides: readonly Override[];
  readonly failover: {
    /** Absent: only an operator gives a region up. */
    readonly afterMs?: number;
    readonly singletons: "Never" | "Fenced";
    readonly onReturn: "Rebalance" | "Stay";
  };
  /** Share of the replicas that may exist in excess during a move: 0 to 1. */
  readonly surge: number;
  readonly conflicts: "Refuse" | "Adopt";
  readonly deletion: "Delete" | "Keep";
}

const dependencyKinds: readonly Dependency[] = ["ConfigMap", "Secret", "ServiceAccount"];

export function placementSpec(placement: Placement): PlacementSpec {
  const spec = fields(placement.spec);
  const regions = fields(spec["regions"]);
  const failover = fields(spec["failover"]);
  const seconds = number(failover["afterSeconds"]);
  const listed = spec["dependencies"];
  return {
    resources: records(spec["resources"]).flatMap(objectSelector),
    dependencies: Array.isArray(listed)
      ? dependencyKinds.filter((kind) => listed.includes(kind))
      : dependencyKinds,
    selector: labelSelector(regions["selector"]),
    weights: oneOf(regions["weights"], ["Equal", "FreeCapacity", "Cost"]),
    each: bounds(fields(regions["each"])),
    named: new Map(
      records(regions["named"]).map((one) => [text(one["name"]), bounds(one)] as const),
    ),
    spreadBy: text(fields(regions["spread"])["label"]),
    with: texts(regions["with"]),
    apart: texts(regions["apart"]),
    overrides: records(spec["overrides"]).map(override),
    failover: {
      ...given({ afterMs: seconds === undefined ? undefined : seconds * 1_000 }),
      singletons: oneOf(failover["singletons"], ["Never", "Fenced"]),
      onReturn: oneOf(failover["onReturn"], ["Rebalance", "Stay"]),
    },
    surge: Math.min(1, (number(spec["surgePercent"]) ?? 25) / 100),
    conflicts: oneOf(spec["conflicts"], ["Refuse", "Adopt"]),
    deletion: oneOf(spec["deletion"], ["Delete", "Keep"]),
  };
}

function objectSelector(one: Fields): readonly ObjectSelector[] {
  const apiVersion = text(one["apiVersion"]);
  const kind = text(one["kind"]);
  const gv = parseApiVersion(apiVersion);
  if (gv === undefined || kind === "") return [];
  const resource = text(one["resource"]) || guessResource(kind);
  const name = text(one["name"]);
  return [
    {
      ref: { group: gv.group, version: gv.version, resource },
      apiVersion,
      kind,
      ...given({ name: name === "" ? undefined : name }),
      labels: labelSelector(one["labelSelector"]),
    },
  ];
}

/** Guesses the resource like upstream (meta.UnsafeGuessKindToResource). The admission policy checks the same name. */
export function guessResource(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith("endpoints")) return singular;
  if (singular.endsWith("s")) return `${singular}es`;
  if (singular.endsWith("y")) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}

function bounds(one: Fields): RegionBounds {
  return given({
    weight: number(one["weight"]),
    min: number(one["min"]),
    max: number(one["max"]),
  });
}

function override(one: Fields): Override {
  const patches = one["patches"];
  return {
    regions: texts(one["regions"]),
    selector: labelSelector(one["selector"]),
    kind: text(one["kind"]),
    patches: Array.isArray(patches) ? patches : [],
  };
}

/** Absent: selects everything. A selector that cannot be parsed selects nothing. */
function labelSelector(value: unknown): LabelSelectorSpec {
  if (value === undefined || value === null) return {};
  try {
    // The schema has checked the type of the field; this call throws for a bad operator.
    selectorFromLabelSelector(value as LabelSelectorSpec);
    return value as LabelSelectorSpec;
  } catch {
    return nothing;
  }
}

const nothing: LabelSelectorSpec = {
  matchExpressions: [
    { key: "a", operator: "Exists" },
    { key: "a", operator: "DoesNotExist" },
  ],
};

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function records(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Returns `value` if it is one of the choices, else the first choice as the default. */
function oneOf<T extends string>(value: unknown, choices: readonly [T, ...T[]]): T {
  return choices.find((choice) => choice === value) ?? choices[0];
}

/** How an object with replicas is spread; undefined: every chosen region gets a copy. */
export function spreadOf({ kind, metadata }: AnyObject): "divided" | "whole" | undefined {
  if (kind === "StatefulSet" || kind === "Job" || kind === "CronJob") return "whole";
  if (kind !== "Deployment" && kind !== "ReplicaSet") return undefined;
  return metadata?.annotations?.["regions.pilothouse.dev/singleton"] === "true"
    ? "whole"
    : "divided";
}
