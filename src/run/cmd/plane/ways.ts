/** The destinations of requests that objects direct elsewhere. Addresses of this server are forbidden. */
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
  /** The caller's own connections to nodes. */
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
  /** Port on which this server listens. */
  readonly port: number;
  readonly advertiseAddress?: string | undefined;
  /** Range of Service addresses, such as `10.96.0.0/12`. */
  readonly range: string;
}

/** Notes the own addresses. A request that returned here would run with this server's own rights. */
export function noteAddresses(own: OwnAddresses, { port, advertiseAddress, range }: Place): void {
  own.addPort(port);
  if (advertiseAddress !== undefined) own.addRoute(advertiseAddress, port);
  own.addRoute(firstAddress(range), kubernetesServicePort);
}
