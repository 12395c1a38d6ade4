/**
 * One real node as one process tree in its own network, mount, host-name and process namespaces. Its first
 * process is a shell that starts containerd, kubelet and kube-proxy; when that shell ends the kernel ends every
 * process of the node, shims and containers included, and its mounts go with the namespace.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { bound } from "../process/bound-child.ts";
import { openCgroup } from "./cgroups.ts";
import { type NodeSetting, writeNodeConfig } from "./node-config.ts";

export interface DrillNode {
  readonly name: string;
  /** Ends every process of the node; resolves when its first one is gone. */
  stop(): Promise<void>;
  kill(): void;
}

/** $F: the node's folder, $B: the programs, $I: the images, $N: its name, $A: its address. */
const setUp = `
set -u
hostname "$N"
mount --make-rshared /
for path in /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/log/pods /var/log/containers; do
  mkdir -p "$path" "$F/root$path"; mount --bind "$F/root$path" "$path"
done
mount --make-rshared /var/lib/kubelet
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock /run/containerd "$F/sysctl"
# The kubelet finds the settings it wants in files: the machine's own stay as they are.
for pair in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \\
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file="$F/sysctl/$(echo "\${pair%%=*}" | tr / _)"
  echo "\${pair##*=}" > "$file"; mount --bind "$file" "/proc/sys/\${pair%%=*}"
done
# These belong to the node's network namespace.
for path in ipv4/ip_forward ipv4/conf/all/route_localnet bridge/bridge-nf-call-iptables; do
  [ -e "/proc/sys/net/$path" ] && echo 1 > "/proc/sys/net/$path"
done
mount --bind "$F/resolv.conf" /etc/resolv.conf
export PATH="$B:$PATH"
containerd -c "$F/containerd.toml" > "$F/containerd.log" 2>&1 &
runtime=$!
tries=0
until ctr version > /dev/null 2>&1; do
  tries=$((tries + 1)); [ $tries -gt 120 ] && exit 1
  sleep 0.5
done
for image in "$I"/*.tar; do ctr -n k8s.io images import "$image" || exit 1; done
kubelet --config="$F/kubelet.json" --kubeconfig=/var/lib/kubelet/kubeconfig \\
  --bootstrap-kubeconfig="$F/bootstrap.kubeconfig" --cert-dir=/var/lib/kubelet/pki \\
  --hostname-override="$N" --node-ip="$A" --v=2 > "$F/kubelet.log" 2>&1 &
kube-proxy --config="$F/kube-proxy.json" --hostname-override="$N" --v=2 > "$F/kube-proxy.log" 2>&1 &
wait $runtime
`;

export function startNode(setting: NodeSetting, bin: string, images: string): DrillNode {
  const { place, folder } = setting;
  mkdirSync(folder, { recursive: true });
  writeNodeConfig(setting);
  openCgroup(place.name);
  const log = openSync(join(folder, "node.log"), "a");
  const namespaces = ["--mount", "--uts", "--pid", "--fork", "--kill-child=SIGKILL"];
  const unshare = ["unshare", ...namespaces, "--mount-proc", "--propagation", "private"];
  const entered = [`--net=/run/netns/${place.namespace}`, ...unshare, "sh", "-c", setUp];
  const variables = { F: folder, B: bin, I: images, N: place.name, A: place.address };
  const child = bound(
    spawn("nsenter", entered, {
      env: { ...process.env, ...variables },
      stdio: ["ignore", log, log],
    }),
  );
  closeSync(log);
  return { name: place.name, stop: () => stop(child), kill: () => void child.kill("SIGKILL") };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
