/**
 * The exports of one name as one imported service: a pure function of them.
 *
 * Rules  ports are the union: of two with one name, or with one number and protocol, that of the oldest export counts. All else
 *        is the oldest export's. Whatever differs is a conflict, told to every export; it withholds nothing that does not
 *        conflict itself.
 * After  KEP-1645, "conflict resolution policy" and "service port".
 */
import type { Service, ServicePort } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { canonicalJson } from "../plan/canonical-json.ts";
import { exportedMarks, type ExportedService } from "./exported-service.ts";

interface ImportedPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

export interface MergedService {
  readonly type: "ClusterSetIP" | "Headless";
  readonly ports: readonly ImportedPort[];
  /** Session affinity and traffic policies: fields that Service and ServiceImport have in common. */
  readonly traffic: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Sorted by name. */
  readonly clusters: readonly string[];
  readonly conflict: Conflict;
}

interface Conflict {
  /** Empty: no conflict. */
  readonly reasons: readonly string[];
  readonly message: string;
}

type Read = (exported: ExportedService) => unknown;

/** Compared fields, each with the API's condition reason for a difference. */
const compared: readonly (readonly [reason: string, what: string, read: Read])[] = [
  ["TypeConflict", "type", ({ service }) => typeOf(service)],
  ["PortConflict", "ports", ({ service }) => portsOf(service).toSorted(byPort)],
  ["SessionAffinityConflict", "sessionAffinity", ({ service }) => affinityOf(service)],
  [
    "SessionAffinityConfigConflict",
    "sessionAffinityConfig",
    ({ service }) => service?.spec?.sessionAffinityConfig ?? null,
  ],
  [
    "InternalTrafficPolicyConflict",
    "internalTrafficPolicy",
    ({ service }) => service?.spec?.internalTrafficPolicy ?? "Cluster",
  ],
  [
    "TrafficDistributionConflict",
    "trafficDistribution",
    ({ service }) => service?.spec?.trafficDistribution ?? null,
  ],
  ["LabelsConflict", "exportedLabels", ({ object }) => exportedMarks(object, "exportedLabels")],
  [
    "AnnotationsConflict",
    "exportedAnnotations",
    ({ object }) => exportedMarks(object, "exportedAnnotations"),
  ],
];

const portsMax = 100;

/** `exports`: valid exports, the oldest first. Returns undefined if there is none. */
export function mergeExports(exports: readonly ExportedService[]): MergedService | undefined {
  const [oldest] = exports;
  if (oldest === undefined) return undefined;
  const { object, service } = oldest;
  return {
    type: typeOf(service),
    ports: mergedPorts(exports),
    traffic: trafficOf(service),
    labels: exportedMarks(object, "exportedLabels"),
    annotations: exportedMarks(object, "exportedAnnotations"),
    clusters: exports.map(({ region }) => region).toSorted(),
    conflict: conflictOf(exports, oldest),
  };
}

/** Returns the Service's ports that the import has, because no traffic goes to a cluster for a port that it does not declare. */
export function sharedPortNames(
  merged: MergedService,
  service: Service | undefined,
): ReadonlySet<string> {
  const own = portsOf(service);
  const shared = merged.ports.filter((port) =>
    own.some(
      (one) =>
        (one.name ?? "") === (port.name ?? "") &&
        one.port === port.port &&
        one.protocol === port.protocol,
    ),
  );
  return new Set(shared.map(({ name = "" }) => name));
}

function conflictOf(exports: readonly ExportedService[], oldest: ExportedService): Conflict {
  const found = compared.flatMap(([reason, what, read]) => {
    const [wanted] = [canonicalJson(read(oldest))];
    const others = exports.filter((one) => canonicalJson(read(one)) !== wanted);
    if (others.length === 0) return [];
    const used = reason === "PortConflict" ? "the union, and where two conflict the port" : "that";
    return [
      {
        reason,
        text: `${what} differ in ${others.length} of ${exports.length} exports: ${used} of the oldest export, in cluster ${oldest.region}, is used`,
      },
    ];
  });
  return {
    reasons: found.map(({ reason }) => reason),
    message: found.map(({ text }) => text).join("; "),
  };
}

function mergedPorts(exports: readonly ExportedService[]): readonly ImportedPort[] {
  const merged: ImportedPort[] = [];
  for (const port of exports.flatMap(({ service }) => portsOf(service))) {
    const isTaken = merged.some(
      (one) =>
        (one.name ?? "") === (port.name ?? "") ||
        (one.port === port.port && one.protocol === port.protocol),
    );
    if (!isTaken && merged.length < portsMax) merged.push(port);
  }
  return merged;
}

function portsOf(service: Service | undefined): readonly ImportedPort[] {
  return (service?.spec?.ports ?? []).map(importedPort);
}

function importedPort({ name, port, protocol, appProtocol }: ServicePort): ImportedPort {
  return { port, protocol: protocol ?? "TCP", ...given({ name, appProtocol }) };
}

function byPort(a: ImportedPort, b: ImportedPort): number {
  return a.port - b.port || (a.protocol < b.protocol ? -1 : 1);
}

function typeOf(service: Service | undefined): "ClusterSetIP" | "Headless" {
  return service?.spec?.clusterIP === "None" ? "Headless" : "ClusterSetIP";
}

function affinityOf(service: Service | undefined): string {
  return service?.spec?.sessionAffinity ?? "None";
}

function trafficOf(service: Service | undefined): Readonly<Record<string, unknown>> {
  const { sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } = service?.spec ?? {};
  return {
    sessionAffinity: affinityOf(service),
    ...given({ sessionAffinityConfig, internalTrafficPolicy, trafficDistribution }),
  };
}
