/** What a takeover did to a world, as a row of a table and as faults. */
import type { Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { isRolled, type World } from "./takeover-load.ts";

export interface Takeover {
  readonly from: string;
  readonly to: string;
  /** When rollouts had begun and the first manager had ended. */
  readonly before: World;
  /** When all had settled under the second. */
  readonly after: World;
  /** After it was left alone. */
  readonly still: World;
  readonly settleMs: number;
}

export interface Findings {
  /** Pods that no rollout replaced, and are gone all the same. */
  readonly lostPods: readonly string[];
  /** ReplicaSets and revisions of workloads whose template did not change. */
  readonly needlessRevisions: readonly string[];
  /** Restarts of containers that were there before. */
  readonly restarts: number;
  /** Objects that somebody wrote while nothing happened. */
  readonly restless: readonly string[];
}

export function findingsOf({ before, after, still }: Takeover): Findings {
  const present = new Set(after.pods.map(uidOf));
  const images = imagesOf(after);
  const lost = before.pods.filter((pod) => !present.has(uidOf(pod)) && isKept(pod, images));
  const known = new Set([...before.replicasets, ...before.controllerrevisions].map(uidOf));
  const needless = [...after.replicasets, ...after.controllerrevisions].filter(
    (one) => !known.has(uidOf(one)) && !isRolled(ownerOf(one)),
  );
  return {
    lostPods: lost.map(nameOf),
    needlessRevisions: needless.map(nameOf),
    restarts: after.pods.reduce((sum, pod) => sum + restartsOf(pod), 0),
    restless: restless(after, still),
  };
}

/** A pod stays unless its owner has got another template since it was made. */
function isKept(pod: Pod, images: ReadonlyMap<string, string>): boolean {
  const app = pod.metadata?.labels?.["app"] ?? "";
  const image = images.get(app);
  const isGoing = pod.metadata?.deletionTimestamp !== undefined;
  return !isGoing && (image === undefined || pod.spec?.containers[0]?.image === image);
}

function imagesOf(world: World): ReadonlyMap<string, string> {
  const owners = [...world.deployments, ...world.statefulsets, ...world.daemonsets];
  return new Map(
    owners.map(({ metadata, spec }) => [
      metadata?.name ?? "",
      spec?.template.spec?.containers[0]?.image ?? "",
    ]),
  );
}

function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0);
}

/** A write of managedFields gives a new resourceVersion, so that alone is compared. */
function restless(after: World, still: World): readonly string[] {
  const versions = new Map(objectsOf(after).map((one) => [uidOf(one), versionOf(one)]));
  const later = objectsOf(still);
  const changed = later.filter((one) => versions.get(uidOf(one)) !== versionOf(one));
  const gone =
    versions.size - (later.length - changed.filter((one) => !versions.has(uidOf(one))).length);
  return [...changed.map(nameOf), ...(gone === 0 ? [] : [`${gone} that are gone`])];
}

function objectsOf(world: World): readonly KubeObject[] {
  return Object.values(world).flat() as readonly KubeObject[]; // lists of objects, all of them
}

export const tableHead = [
  "| from | to | workloads | pods | settled after | pods lost | restarts | needless revisions | written while left alone |",
  "|---|---|---:|---:|---:|---:|---:|---:|---:|",
].join("\n");

export function tableRow(takeover: Takeover): string {
  const { lostPods, restarts, needlessRevisions, restless } = findingsOf(takeover);
  const { before, from, to, settleMs } = takeover;
  const workloads = [
    before.deployments,
    before.statefulsets,
    before.daemonsets,
    before.jobs,
    before.cronjobs,
  ].reduce((sum, list) => sum + list.length, 0);
  const figures = [
    workloads,
    before.pods.length,
    `${(settleMs / 1000).toFixed(1)} s`,
    lostPods.length,
    restarts,
    needlessRevisions.length,
    restless.length,
  ];
  return `| ${[from, to, ...figures].join(" | ")} |`;
}

export function faultsOf(takeover: Takeover): readonly string[] {
  const { lostPods, restarts, needlessRevisions, restless } = findingsOf(takeover);
  const some = (what: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`${what}: ${names.slice(0, 10).join(", ")}`];
  return [
    ...some("pods that were lost", lostPods),
    ...some("revisions nobody needed", needlessRevisions),
    ...some("objects written while left alone", restless),
    ...(restarts === 0 ? [] : [`${restarts} restarts`]),
  ];
}

function uidOf({ metadata }: KubeObject): string {
  return metadata?.uid ?? "";
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind ?? ""} ${metadata?.name ?? ""}`.trim();
}

function versionOf({ metadata }: KubeObject): string {
  return metadata?.resourceVersion ?? "";
}

function ownerOf({ metadata }: KubeObject): string {
  return metadata?.ownerReferences?.[0]?.name ?? "";
}
