/** What reaches kubelets, pods and Services, and within which limits. */
import type { HostsTransport } from "#platform/byte-transport.ts";
import type { OpenStreams } from "./open-streams.ts";

export interface Kubelets {
  /** Shows this server's client certificate and checks the kubelet's, where an authority is given. */
  readonly verified: HostsTransport;
  /** Shows this server's client certificate and checks nothing: `insecureSkipTLSVerifyBackend`. */
  readonly unverified: HostsTransport;
  /** To pods, endpoints and other ports of nodes. Shows no certificate and checks none, as upstream. */
  readonly backends: HostsTransport;
  readonly streams: OpenStreams;
  readonly options: KubeletOptions;
}

interface KubeletOptions {
  /** The first of these that a node has is the address of its kubelet. */
  readonly addressTypes: readonly string[];
  /** Where a node's status names no port. */
  readonly port: number;
}

export const kubeletDefaults: KubeletOptions = {
  /** kubeadm's order: names of nodes are often known to nobody but their cluster. */
  addressTypes: ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"],
  port: 10_250,
};
