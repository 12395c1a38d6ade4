/** What the drill needs of the machine; each missing thing is one printed reason to skip it. */
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A program and the package of Debian that has it. */
const programs: Readonly<Record<string, string>> = {
  kubectl: "kubectl",
  ip: "iproute2",
  nsenter: "util-linux",
  unshare: "util-linux",
  mount: "mount",
  runc: "runc",
  iptables: "iptables",
  conntrack: "conntrack",
  tar: "tar",
  curl: "curl",
  ps: "procps",
};
const busyboxPaths = ["/usr/bin/busybox", "/bin/busybox"];
const pluginFolders = ["/usr/lib/cni", "/opt/cni/bin"];
const plugins = ["bridge", "host-local", "portmap", "loopback"];

export interface Needs {
  readonly missing: readonly string[];
  readonly pluginFolder: string;
  readonly busybox: string;
  readonly runc: string;
}

/** `isBuilt`: every program of Go is there, so Go is not needed. */
export function lookForNeeds(isBuilt: boolean): Needs {
  const missing: string[] = [];
  if (process.platform !== "linux") missing.push("it is not Linux");
  if (process.getuid?.() !== 0) missing.push("it is not run as root");
  for (const [name, debian] of Object.entries(programs)) {
    if (onPath(name) === undefined) missing.push(`no ${name} (Debian: ${debian})`);
  }
  const busybox = busyboxPaths.find((path) => existsSync(path));
  if (busybox === undefined) missing.push("no busybox (Debian: busybox-static)");
  const pluginFolder = pluginFolders.find((folder) =>
    plugins.every((name) => existsSync(join(folder, name))),
  );
  if (pluginFolder === undefined) {
    missing.push("no CNI plugins (Debian: containernetworking-plugins)");
  }
  if (!isBuilt && onPath("go") === undefined) missing.push("no Go to build kubelet with");
  return {
    missing,
    pluginFolder: pluginFolder ?? "",
    busybox: busybox ?? "",
    runc: onPath("runc") ?? "",
  };
}

function onPath(name: string): string | undefined {
  const folders = `${process.env["PATH"] ?? ""}${delimiter}/usr/sbin${delimiter}/sbin`;
  return folders
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
