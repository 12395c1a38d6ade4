/** The objects that a server keeps about itself and its cluster, as data (contract 1.20). */
import { aggregatorGroup, groupPriority, versionPriority } from "#api/schema/group-priorities.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { kubeletClientName } from "#auth/groups.ts";

export interface BootstrapFacts {
  /** Address at which clients reach this server. Endpoints are made only if pods could use the address. */
  readonly advertise: { readonly host: string; readonly port: number };
  /** Whether other servers serve the same storage. Then kubernetes-endpoints.ts keeps the addresses of all. */
  readonly isOneOfSeveral?: boolean;
  /** Range of Service addresses, `10.96.0.0/12`; its first address becomes that of Service default/kubernetes. */
  readonly serviceCidr: string;
  /** PEM of the authority of client certificates; "" when there is none. */
  readonly clientCa: string;
  /** Trust settings for front proxies. Absent: no proxy is trusted. */
  readonly requestHeader?: {
    readonly clientCa: string;
    readonly allowedNames: readonly string[];
    readonly usernameHeaders: readonly string[];
    readonly uidHeaders: readonly string[];
    readonly groupHeaders: readonly string[];
    readonly extraPrefixes: readonly string[];
  };
}

const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"] as const;

export function namespaceObjects(): readonly AnyObject[] {
  return systemNamespaces.map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  }));
}

export function priorityClassObjects(): readonly AnyObject[] {
  const make = (name: string, value: number, description: string): AnyObject => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value,
    description,
  });
  return [
    make(
      "system-node-critical",
      2_000_001_000,
      "Used for system critical pods that must not be moved from their current node.",
    ),
    make(
      "system-cluster-critical",
      2_000_000_000,
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
  ];
}

/** `now`: the transition time of the ServiceCIDR's condition, as RFC 3339. */
export function serviceCidrObject(facts: BootstrapFacts, now: string): AnyObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "kubernetes" },
    spec: { cidrs: [facts.serviceCidr] },
    status: {
      conditions: [
        {
          type: "Ready",
          status: "True",
          lastTransitionTime: now,
          reason: "",
          message: "Kubernetes Service CIDR is ready",
        },
      ],
    },
  };
}

const serverLabels = { component: "apiserver", provider: "kubernetes" };

export const kubernetesServicePort = 443;

export function kubernetesService(facts: BootstrapFacts): AnyObject {
  const address = firstAddress(facts.serviceCidr);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kubernetes", namespace: "default", labels: serverLabels },
    spec: {
      type: "ClusterIP",
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: [address.includes(":") ? "IPv6" : "IPv4"],
      ipFamilyPolicy: "SingleStack",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ports: [
        {
          name: "https",
          port: kubernetesServicePort,
          protocol: "TCP",
          targetPort: facts.advertise.port,
        },
      ],
    },
  };
}

/** Returns the first usable address of a block whose lowest bits are zero: `10.96.0.0/12` -> `10.96.0.1`. */
export function firstAddress(cidr: string): string {
  const network = cidr.split("/")[0] ?? "";
  if (network.includes(":")) return network.endsWith("::") ? `${network}1` : `${network}:1`;
  const parts = network.split(".").map(Number);
  return [...parts.slice(0, 3), (parts[3] ?? 0) + 1].join(".");
}

function isLoopbackHost(host: string): boolean {
  return host.startsWith("127.") || host === "::1" || host === "localhost";
}

/** Whether another host may reach a server at `host`: false for loopback and for the unspecified address. */
export function isReachable(host: string): boolean {
  return !isLoopbackHost(host) && host !== "0.0.0.0" && host !== "::";
}

/** `addresses`: the addresses of all servers. */
export function kubernetesEndpoints(addresses: readonly string[], port: number): AnyObject {
  const ports = [{ name: "https", port, protocol: "TCP" }];
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { "endpointslice.kubernetes.io/skip-mirror": "true" },
    },
    subsets: addresses.length === 0 ? [] : [{ addresses: addresses.map((ip) => ({ ip })), ports }],
  };
}

/** `addresses`: the addresses of all servers, of one IP family. */
export function kubernetesEndpointSlice(addresses: readonly string[], port: number): AnyObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { "kubernetes.io/service-name": "kubernetes" },
    },
    addressType: addresses[0]?.includes(":") === true ? "IPv6" : "IPv4",
    endpoints: addresses.map((one) => ({ addresses: [one], conditions: { ready: true } })),
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
}

/** ConfigMap with the date since which Secrets record the last use of legacy tokens; upstream's cleaner reads it. */
export function legacyTokenTracking(now: string): AnyObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "kube-apiserver-legacy-service-account-token-tracking",
      namespace: "kube-system",
    },
    data: { since: now.slice(0, 10) },
  };
}

/** ConfigMap that delegating servers read in order to trust the same callers. */
export function authenticationConfigMap(facts: BootstrapFacts): AnyObject {
  const { clientCa, requestHeader: front } = facts;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: {
      ...(clientCa === "" ? {} : { "client-ca-file": clientCa }),
      ...(front === undefined
        ? {}
        : {
            "requestheader-client-ca-file": front.clientCa,
            "requestheader-allowed-names": JSON.stringify(front.allowedNames),
            "requestheader-username-headers": JSON.stringify(front.usernameHeaders),
            "requestheader-uid-headers": JSON.stringify(front.uidHeaders),
            "requestheader-group-headers": JSON.stringify(front.groupHeaders),
            "requestheader-extra-headers-prefix": JSON.stringify(front.extraPrefixes),
          }),
    },
  };
}

/**
 * Binds upstream's role for kubelet clients to the user of the certificate that this server presents to kubelets;
 * kubelets ask this server about the user's rights. Upstream leaves this binding to installers.
 */
export function kubeletClientBinding(): AnyObject {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: {
      name: "pilothouse:kubelet-api-admin",
      annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
    },
    roleRef: { apiGroup, kind: "ClusterRole", name: "system:kubelet-api-admin" },
    subjects: [{ apiGroup, kind: "User", name: kubeletClientName }],
  };
}

/** One APIService for each built-in group-version. The aggregator makes those of custom kinds. */
export function apiServiceObjects(
  infos: readonly ResourceInfo[],
  now: string,
): readonly AnyObject[] {
  const served = new Map(
    infos
      .filter(({ group }) => groupPriority(group) !== undefined && group !== aggregatorGroup)
      .map(({ group, version }) => [`${version}.${group}`, { group, version }]),
  );
  return [...served].map(([name, { group, version }]) => ({
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name, labels: { "kube-aggregator.kubernetes.io/automanaged": "onstart" } },
    spec: {
      ...(group === "" ? {} : { group }),
      version,
      groupPriorityMinimum: groupPriority(group) ?? 0,
      versionPriority: versionPriority(group, version),
    },
    status: {
      conditions: [
        {
          type: "Available",
          status: "True",
          lastTransitionTime: now,
          reason: "Local",
          message: "Local APIServices are always available",
        },
      ],
    },
  }));
}
