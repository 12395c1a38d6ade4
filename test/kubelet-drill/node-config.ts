/** The configuration files of one node: containerd, CNI, kubelet, kube-proxy. JSON wherever it is read as YAML. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cgroupOf } from "./cgroups.ts";
import { pauseImage } from "./images.ts";
import type { NodePlace } from "./network.ts";

export const dnsAddress = "10.96.0.10";

export interface NodeSetting {
  readonly place: NodePlace;
  /** The node's own folder: configuration, logs, everything it stores. */
  readonly folder: string;
  readonly server: string;
  /** Path of the cluster's authority, PEM. */
  readonly authority: string;
  readonly bootstrapToken: string;
  readonly proxyToken: string;
  readonly pluginFolder: string;
  readonly runc: string;
}

export function writeNodeConfig(setting: NodeSetting): void {
  const { folder, bootstrapToken, proxyToken } = setting;
  mkdirSync(join(folder, "cni"), { recursive: true });
  mkdirSync(join(folder, "manifests"), { recursive: true });
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(folder, name), JSON.stringify(value, null, 1));
  write("bootstrap.kubeconfig", kubeconfig(setting, bootstrapToken));
  write("kube-proxy.kubeconfig", kubeconfig(setting, proxyToken));
  write("cni/10-drill.conflist", network(setting.place));
  write("kubelet.json", kubelet(setting));
  write("kube-proxy.json", kubeProxy(setting));
  writeFileSync(join(folder, "containerd.toml"), containerd(setting));
  writeFileSync(join(folder, "resolv.conf"), `nameserver ${dnsAddress}\n`);
}

function kubeconfig({ server, authority }: NodeSetting, token: string): unknown {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "drill", cluster: { server, "certificate-authority": authority } }],
    users: [{ name: "node", user: { token } }],
    contexts: [{ name: "drill", context: { cluster: "drill", user: "node" } }],
    "current-context": "drill",
  };
}

function network({ podRange }: NodePlace): unknown {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: podRange }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  const cable = { type: "bridge", bridge: "cni0", isGateway: true, hairpinMode: true, ipam };
  const hostPorts = { type: "portmap", capabilities: { portMappings: true }, snat: true };
  return { cniVersion: "1.0.0", name: "drill", plugins: [cable, hostPorts] };
}

function kubelet({ place, folder, authority }: NodeSetting): unknown {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: authority },
    },
    authorization: { mode: "Webhook" },
    serverTLSBootstrap: true,
    rotateCertificates: true,
    clusterDNS: [dnsAddress],
    clusterDomain: "cluster.local",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroupOf(place.name)}`,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    resolvConf: join(folder, "resolv.conf"),
    staticPodPath: join(folder, "manifests"),
    oomScoreAdj: 0,
    // The disk is the machine's: a full one is not the drill's to judge.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
  };
}

function kubeProxy({ folder }: NodeSetting): unknown {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    clientConnection: { kubeconfig: join(folder, "kube-proxy.kubeconfig") },
    mode: "iptables",
    clusterCIDR: "10.244.0.0/16",
    // Connection tracking's limits are the whole machine's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    oomScoreAdj: 0,
  };
}

function containerd({ folder, pluginFolder, runc }: NodeSetting): string {
  const images = `plugins."io.containerd.cri.v1.images"`;
  const runtime = `plugins."io.containerd.cri.v1.runtime"`;
  return `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[${images}]
  snapshotter = "overlayfs"
[${images}.pinned_images]
  sandbox = "${pauseImage}"
[${runtime}]
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
[${runtime}.containerd]
  default_runtime_name = "runc"
[${runtime}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${runtime}.containerd.runtimes.runc.options]
  BinaryName = "${runc}"
  SystemdCgroup = false
[${runtime}.cni]
  bin_dirs = ["${pluginFolder}"]
  conf_dir = "${join(folder, "cni")}"
`;
}
