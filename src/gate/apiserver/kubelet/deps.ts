/** The transports to kubelets, pods and Services, and their limits. */
import type { HostsTransport } from "#platform/byte-transport.ts";
import type { OpenStreams } from "./open-streams.ts";

export interface Kubelets {
  /** Presents this server's client certificate, and verifies the kubelet's if an authority is configured. */
  readonly verified: HostsTransport;
  /** Presents this server's client certificate and verifies nothing: `insecureSkipTLSVerifyBackend`. */
  readonly unverified: HostsTransport;
  /** For pods, endpoints and other ports of nodes. Presents and verifies no certificate, as upstream. */
  readonly backends: HostsTransport;
  readonly streams: OpenStreams;
  readonly options: KubeletOptions;
}

interface KubeletOptions {
  /** Address types in order of preference; the first that a node has is its kubelet's address. */
  readonly addressTypes: readonly string[];
  /** Port of kubelets whose node's status names none. */
  readonly port: number;
}

export const kubeletDefaults: KubeletOptions = {
  /** kubeadm's order: the names of nodes often resolve only inside their cluster. */
  addressTypes: ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"],
  port: 10_250,
};
