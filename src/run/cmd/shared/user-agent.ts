/**
 * User agents of the components, in the form of client-go: servers name field managers after the first part, so
 * what upstream's scheduler, controllers and kubelets own is owned here under the same names. Argo CD and others
 * are configured with them (`managedFieldsManagers: kube-controller-manager`).
 */
import { versionInfo } from "#server/version.ts";
import { productVersion } from "./product.ts";

/** By Node's name: Go's name. Names that are missing here are the same in both. */
const goSystems = new Map([
  ["win32", "windows"],
  ["sunos", "solaris"],
]);
const goMachines = new Map([
  ["x64", "amd64"],
  ["ia32", "386"],
  ["mipsel", "mipsle"],
  ["ppc64", "ppc64le"],
]);

/** The version in `/version`. */
export const version = versionInfo({
  productVersion,
  commit: "unknown",
  date: "1970-01-01T00:00:00Z",
  runtime: `node ${process.versions.node}`,
  platform: goPlatform(process.platform, process.arch),
});

/** Returns `linux/amd64`, with Go's names, which clients and dashboards compare. */
function goPlatform(system: string, machine: string): string {
  return `${goSystems.get(system) ?? system}/${goMachines.get(machine) ?? machine}`;
}

type Component = "kube-scheduler" | "kube-controller-manager" | "kubelet" | "cluster-autoscaler";

/** `part`: name of the component's client, such as a service account's user or `scheduler`. */
export function componentUserAgent(component: Component, part = ""): string {
  const { gitVersion, gitCommit, platform } = version;
  const end = part === "" ? "" : `/${part}`;
  return `${component}/${gitVersion} (${platform}) kubernetes/${gitCommit}${end}`;
}
