/** Where requests go that objects lead somewhere, and where they may not: back to this server. */
import { firstAddress, kubernetesServicePort } from "#apiserver/bootstrap-objects.ts";
import type { Pki } from "#auth/pki-files.ts";
import type { RefusesAddress } from "#platform/node/http/http-hosts.ts";
import type { Host } from "../shared/host.ts";
import { isMasters } from "./kubelet-credentials.ts";
import { type KubeletAccess, openKubelets, type OpenedKubelets } from "./kubelets.ts";
import { OwnAddresses } from "./own-addresses.ts";

interface WayOptions {
  readonly pki: Pki;
  readonly kubelet?: KubeletAccess;
  /** The caller's own. */
  readonly kubelets?: OpenedKubelets;
}

export interface Ways {
  readonly ownAddresses: OwnAddresses;
  readonly refuses: RefusesAddress;
  readonly kubelets: OpenedKubelets;
}

const mastersToKubelets =
  "the certificate of --kubelet-client-certificate is in system:masters: where it is shown follows from what nodes say; make one without the group (pilothouse init does), and bind its user to ClusterRole system:kubelet-api-admin";

export function openWays(host: Host, { pki, kubelet, kubelets }: WayOptions): Ways {
  const ownAddresses = new OwnAddresses();
  const refuses: RefusesAddress = (address, port) => ownAddresses.has(address, port);
  if (isMasters(kubelet ?? {})) host.log.warn(mastersToKubelets);
  const opened = kubelets ?? openKubelets(host, pki, { ...kubelet, refuses });
  return { ownAddresses, refuses, kubelets: opened };
}

interface Place {
  /** Where this server listens. */
  readonly port: number;
  readonly advertiseAddress?: string | undefined;
  /** Of Services: `10.96.0.0/12`. */
  readonly range: string;
}

/** A request that came back would be asked as this server itself. */
export function noteAddresses(own: OwnAddresses, { port, advertiseAddress, range }: Place): void {
  own.addPort(port);
  if (advertiseAddress !== undefined) own.addRoute(advertiseAddress, port);
  own.addRoute(firstAddress(range), kubernetesServicePort);
}
