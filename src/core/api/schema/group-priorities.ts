/**
 * The order in which groups and their versions are listed, and the priorities in the automatic APIServices.
 *
 * Numbers are upstream's (cmd/kube-apiserver and controlplane, aggregator.go). Groups with a higher
 * number come first; equal numbers are ordered by name. Groups of custom resources get
 * `customGroupPriority` and come after all of these.
 */
import { ownEntry } from "#base/own.ts";

/** groupPriorityMinimum by group. */
const groups: Readonly<Record<string, number>> = {
  "apiregistration.k8s.io": 20_000,
  "": 18_000,
  apps: 17_800,
  "events.k8s.io": 17_750,
  "authentication.k8s.io": 17_700,
  "authorization.k8s.io": 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  "certificates.k8s.io": 17_300,
  "networking.k8s.io": 17_200,
  policy: 17_100,
  "rbac.authorization.k8s.io": 17_000,
  "storage.k8s.io": 16_800,
  "admissionregistration.k8s.io": 16_700,
  "apiextensions.k8s.io": 16_700,
  "scheduling.k8s.io": 16_600,
  "coordination.k8s.io": 16_500,
  "node.k8s.io": 16_300,
  "discovery.k8s.io": 16_200,
  "resource.k8s.io": 16_200,
  "flowcontrol.apiserver.k8s.io": 16_100,
  "internal.apiserver.k8s.io": 16_000,
  "storagemigration.k8s.io": 15_800,
};

/** Versions whose priority is not 15. */
const versions: Readonly<Record<string, number>> = {
  "/v1": 1,
  "apiregistration.k8s.io/v1": 100,
  "autoscaling/v2": 30,
  "admissionregistration.k8s.io/v1beta1": 12,
  "admissionregistration.k8s.io/v1alpha1": 9,
  "certificates.k8s.io/v1beta1": 9,
  "certificates.k8s.io/v1alpha1": 1,
  "coordination.k8s.io/v1beta1": 13,
  "coordination.k8s.io/v1alpha2": 12,
  "flowcontrol.apiserver.k8s.io/v1": 21,
  "internal.apiserver.k8s.io/v1alpha1": 9,
  "networking.k8s.io/v1beta1": 9,
  "resource.k8s.io/v1": 20,
  "resource.k8s.io/v1beta1": 9,
  "resource.k8s.io/v1alpha3": 1,
  "scheduling.k8s.io/v1alpha2": 9,
  "storage.k8s.io/v1beta1": 9,
  "storagemigration.k8s.io/v1beta1": 9,
};

/** The priority that upstream's CRD registration controller writes. */
export const customGroupPriority = 1000;
const customVersionPriority = 100;

/** The only local group without APIServices, because APIServices are its objects. */
export const aggregatorGroup = "apiregistration.k8s.io";

/** `groupPriorityMinimum`; undefined for a group that is not built in. */
export function groupPriority(group: string): number | undefined {
  return Object.hasOwn(groups, group) ? ownEntry(groups, group) : undefined;
}

/** `versionPriority` of a version; 100 outside the built-in groups. */
export function versionPriority(group: string, version: string): number {
  if (groupPriority(group) === undefined) return customVersionPriority;
  return ownEntry(versions, `${group}/${version}`) ?? 15;
}

export function compareGroups(a: string, b: string): number {
  const byPriority =
    (groupPriority(b) ?? customGroupPriority) - (groupPriority(a) ?? customGroupPriority);
  if (byPriority !== 0) return byPriority;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Best first: by priority, then GA before beta before alpha, higher before lower, then by name. */
export function compareVersions(group: string, a: string, b: string): number {
  const byPriority = versionPriority(group, b) - versionPriority(group, a);
  return byPriority === 0 ? compareKubeVersions(a, b) : byPriority;
}

/** Best first. Texts not of the form `v1`, `v1beta2` ... sort last, by name. */
export function compareKubeVersions(a: string, b: string): number {
  const x = versionRank(a);
  const y = versionRank(b);
  for (let i = 0; i < 3; i++) {
    const difference = (y[i] ?? 0) - (x[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Stability (3 GA, 2 beta, 1 alpha, 0 other), major, minor. */
function versionRank(version: string): readonly number[] {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const [, major, level, minor] = match;
  return [level === undefined ? 3 : level === "beta" ? 2 : 1, Number(major), Number(minor ?? 0)];
}
