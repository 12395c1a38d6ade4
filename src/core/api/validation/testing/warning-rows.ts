/**
 * Manifests that cause warnings: upstream's list as rows (the manifest, its texts), for the test of the texts and for
 * the comparison with a stock server.
 */

export function object(
  apiVersion: string,
  kind: string,
  fields: string,
  metadata = "name: n",
): string {
  return `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {${metadata}}, ${fields}}`;
}

export const container = "{name: c, image: i}";

export function pod(spec: string, containers = container): string {
  return object("v1", "Pod", `spec: {containers: [${containers}], ${spec}}`);
}

function annotatedPod(annotations: string, spec = ""): string {
  const metadata = `name: n, annotations: {${annotations}}`;
  return object("v1", "Pod", `spec: {containers: [${container}], ${spec}}`, metadata);
}

export function deployment(spec: string, name = "n", more = "", metadata = ""): string {
  const template = `{metadata: {labels: {a: b}${metadata}}, spec: {containers: [${container}], ${spec}}}`;
  const fields = `spec: {selector: {matchLabels: {a: b}}, template: ${template}${more}}`;
  return object("apps/v1", "Deployment", fields, `name: ${name}, generation: 1`);
}

export const service = (spec: string, metadata = "name: n"): string =>
  object("v1", "Service", `spec: {ports: [{port: 80}], ${spec}}`, metadata);

/** Name, manifest, and the warnings for its creation. */
export const warnedManifests: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "a pod whose name is no label",
    object("v1", "Pod", `spec: {containers: [${container}]}`, "name: a.b"),
    [
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ],
  ],
  [
    "old labels of nodes",
    pod(
      `nodeSelector: {beta.kubernetes.io/os: linux}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: app.kubernetes.io/created-by, operator: In, values: ["-x"]}]}}]}}`,
    ),
    [
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: app.kubernetes.io/created-by is deprecated since v1.9",
      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: -x is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  ],
  [
    "selectors that match nothing",
    pod(
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: failure-domain.beta.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a}}]}}",
    ),
    [
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
      "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
    ],
  ],
  [
    "annotations that do nothing any more",
    annotatedPod(
      'scheduler.alpha.kubernetes.io/critical-pod: "", security.alpha.kubernetes.io/sysctls: a=b, security.alpha.kubernetes.io/unsafe-sysctls: a=b, seccomp.security.alpha.kubernetes.io/pod: unconfined, container.seccomp.security.alpha.kubernetes.io/c: unconfined',
    ),
    [
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      'metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
      'metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
      'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
      'metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the "seccompProfile" field instead',
    ],
  ],
  [
    "an AppArmor profile in an annotation",
    annotatedPod("container.apparmor.security.beta.kubernetes.io/c: unconfined"),
    [
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead',
    ],
  ],
  [
    "an AppArmor profile that the pod says too",
    annotatedPod(
      "container.apparmor.security.beta.kubernetes.io/c: localhost/p",
      "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}",
    ),
    [],
  ],
  [
    "volumes that are gone",
    pod(
      "volumes: [{name: a, gitRepo: {repository: r}}, {name: b, glusterfs: {endpoints: e, path: p}}, {name: c, storageos: {volumeName: v}}, {name: d, cephfs: {monitors: [m]}}, {name: e, rbd: {monitors: [m], image: i}}, {name: f, flocker: {datasetName: d}}, {name: g, quobyte: {registry: 'r:1', volume: v}}, {name: h, photonPersistentDisk: {pdID: p}}, {name: i, scaleIO: {gateway: g, system: s, volumeName: v, secretRef: {name: r}}}, {name: j, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 0.5}}}}}}]",
    ),
    [
      "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
      "spec.volumes[1].glusterfs: deprecated in v1.25, non-functional in v1.26+",
      "spec.volumes[2].storageOS: deprecated in v1.22, non-functional in v1.25+",
      "spec.volumes[3].cephfs: deprecated in v1.28, non-functional in v1.31+",
      "spec.volumes[4].rbd: deprecated in v1.28, non-functional in v1.31+",
      "spec.volumes[5].flocker: deprecated in v1.22, non-functional in v1.25+",
      "spec.volumes[6].quobyte: deprecated in v1.22, non-functional in v1.25+",
      "spec.volumes[7].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
      "spec.volumes[8].scaleIO: deprecated in v1.16, non-functional in v1.22+",
      'spec.volumes[9].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer',
    ],
  ],
  [
    "paths within paths of one volume",
    pod(
      "volumes: [{name: a, configMap: {name: m, items: [{key: k, path: p}, {key: l, path: p/q/}]}}, {name: b, secret: {secretName: s, items: [{key: k, path: p}, {key: l, path: p}]}}, {name: d, downwardAPI: {items: [{path: x/y, fieldRef: {fieldPath: metadata.name}}, {path: x, fieldRef: {fieldPath: metadata.name}}]}}, {name: e, projected: {sources: [{}, {configMap: {name: m, items: [{key: k, path: p}]}}, {serviceAccountToken: {path: p/t}}]}}]",
    ),
    [
      'volume "a" (ConfigMap "m"): overlapping paths: "p/q" with "p"',
      'volume "b" (Secret "s"): overlapping paths: "p" with "p"',
      'volume "d" (DownwardAPI): overlapping paths: "x" with "x/y"',
      'volume "e" (Projected) has no sources provided',
      'volume "e" (Projected): overlapping paths: "p/t" (ServiceAccountToken) with "p" (ConfigMap "m")',
    ],
  ],
  [
    "things that are named twice",
    pod(
      "hostAliases: [{ip: 1.2.3.4}, {ip: 1.2.3.4}], imagePullSecrets: [{name: a}, {name: a}, {name: ''}]",
      "{name: c, image: i, env: [{name: A, value: a}, {name: A, value: b}, {name: B, value: a}, {name: B, value: $(B)x}], ports: [{name: p, containerPort: 80}, {containerPort: 80, hostIP: 1.2.3.4}]}, {name: d, image: i, ports: [{name: p, containerPort: 80}, {containerPort: 80, hostPort: 80}, {containerPort: 80, hostPort: 80, hostIP: 1.2.3.4}]}",
    ),
    [
      'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
      'spec.imagePullSecrets[1].name: duplicate name "a"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
      "spec.containers[0].ports[1]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}",
      "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[1]",
      "spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[1]",
      "spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]",
      "spec.containers[1].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[2]: overlapping port definition with spec.containers[0].ports[1]",
      "spec.containers[1].ports[2]: overlapping port definition with spec.containers[1].ports[0]",
      "spec.containers[1].ports[2]: dangerously ambiguous port definition with spec.containers[1].ports[1]",
      'spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
    ],
  ],
  [
    "fractions of bytes",
    pod(
      "overhead: {memory: 0.5, cpu: 0.5}",
      "{name: c, image: i, resources: {limits: {memory: 2.5, ephemeral-storage: 1.5}, requests: {memory: 1.5}}}",
    ),
    [
      'spec.overhead[memory]: fractional byte value "500m" is invalid, must be an integer',
      'spec.containers[0].resources.limits[memory]: fractional byte value "2500m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].resources.limits[ephemeral-storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[ephemeral-storage]: fractional byte value "1500m" is invalid, must be an integer',
    ],
  ],
  [
    "addresses in another spelling",
    pod(
      "dnsConfig: {nameservers: ['2001:DB8::1', 1.2.3.4]}, hostAliases: [{ip: '0:0:0:0:0:0:0:1'}]",
    ),
    [
      'spec.dnsConfig.nameservers[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
      'spec.hostAliases[0].ip: IPv6 address "0:0:0:0:0:0:0:1" should be in RFC 5952 canonical format ("::1")',
    ],
  ],
  [
    "a deployment's name and template",
    deployment("terminationGracePeriodSeconds: -1", "a.b"),
    [
      "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
    ],
  ],
  [
    "an AppArmor profile in an annotation of a template",
    deployment(
      "",
      "n",
      "",
      ", annotations: {container.apparmor.security.beta.kubernetes.io/c: runtime/default}",
    ),
    [
      'spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead',
    ],
  ],
  [
    "a stateful set's claims and history",
    object(
      "apps/v1",
      "StatefulSet",
      `spec: {serviceName: s, revisionHistoryLimit: -1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [${container}]}}, volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1.5}}}}]}`,
    ),
    [
      'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
    ],
  ],
  [
    "an indexed job of very many pods",
    object(
      "batch/v1",
      "Job",
      `spec: {completionMode: Indexed, completions: 100001, parallelism: 10001, template: {spec: {restartPolicy: Never, containers: [${container}]}}}`,
      "name: n, uid: u",
    ),
    [
      "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
    ],
  ],
  [
    "a pod template and a replication controller",
    object(
      "v1",
      "ReplicationController",
      `spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {beta.kubernetes.io/os: linux}, containers: [${container}]}}}`,
    ),
    [
      'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  ],
  [
    "a service of every odd kind",
    service(
      "type: ClusterIP, clusterIP: None, clusterIPs: [None], externalIPs: [192.0.2.1], loadBalancerIP: 192.0.2.2, sessionAffinity: ClientIP, externalName: x, trafficDistribution: PreferClose",
      "name: n, annotations: {service.kubernetes.io/topology-aware-hints: Auto}",
    ),
    [
      "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
      "spec.loadBalancerIP is ignored for headless services",
      "spec.externalIPs is ignored for headless services",
      "spec.SessionAffinity is ignored for headless services",
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ],
  [
    "a service's addresses",
    service(
      "type: LoadBalancer, clusterIP: '2001:DB8::1', clusterIPs: ['2001:DB8::1'], externalIPs: ['2001:db8:0::2'], loadBalancerIP: '2001:db8:0::3', loadBalancerSourceRanges: ['2001:db8:0::/64', 10.1.2.3/8]",
    ),
    [
      'spec.clusterIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
      'spec.externalIPs[0]: IPv6 address "2001:db8:0::2" should be in RFC 5952 canonical format ("2001:db8::2")',
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
      'spec.loadBalancerIP: IPv6 address "2001:db8:0::3" should be in RFC 5952 canonical format ("2001:db8::3")',
      'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "2001:db8:0::/64" should be in RFC 5952 canonical format ("2001:db8::/64")',
      'spec.loadBalancerSourceRanges[1]: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
    ],
  ],
  [
    "a name that stands for a service",
    service("type: ExternalName, externalName: a.b, externalIPs: [192.0.2.1]"),
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [
    "an address of a load balancer alone",
    service("type: LoadBalancer, loadBalancerIP: 192.0.2.2"),
    [],
  ],
  [
    "a volume on its way out",
    object(
      "v1",
      "PersistentVolume",
      "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Recycle, glusterfs: {endpoints: e, path: p}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: Exists}]}]}}}",
      "name: n, annotations: {volume.beta.kubernetes.io/storage-class: a, volume.beta.kubernetes.io/mount-options: b}",
    ),
    [
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
      "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    ],
  ],
  [
    "a claim",
    object(
      "v1",
      "PersistentVolumeClaim",
      "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1.5}, limits: {storage: 2.5}}}",
      "name: n, annotations: {volume.beta.kubernetes.io/storage-class: a}",
    ),
    [
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
    ],
  ],
  [
    "a node",
    object("v1", "Node", "spec: {externalID: x, podCIDRs: ['2001:db8:0::/64']}"),
    [
      "spec.externalID: this field is deprecated, and is unused by Kubernetes",
      'spec.podCIDRs[0]: IPv6 CIDR value "2001:db8:0::/64" should be in RFC 5952 canonical format ("2001:db8::/64")',
    ],
  ],
  [
    "a quota that requests more than it limits",
    object(
      "v1",
      "ResourceQuota",
      "spec: {hard: {cpu: 2, limits.cpu: 1, requests.memory: 1Gi, limits.memory: 1Gi, requests.ephemeral-storage: 2, limits.ephemeral-storage: 1}}",
    ),
    [
      "ResourceQuota cpu (2) should be less than limits.cpu (1)",
      "ResourceQuota requests.ephemeral-storage (2) should be less than limits.ephemeral-storage (1)",
    ],
  ],
  [
    "a pair that holds no PEM",
    object("v1", "Secret", "type: kubernetes.io/tls, data: {tls.crt: aGk=, tls.key: aGk=}"),
    ["tls: failed to find any PEM data in certificate input"],
  ],
  [
    "an account whose secrets are to be listed",
    object(
      "v1",
      "ServiceAccount",
      "",
      'name: n, annotations: {kubernetes.io/enforce-mountable-secrets: "true"}',
    ),
    [
      "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
    ],
  ],
  [
    "endpoints",
    object("v1", "Endpoints", "subsets: [{addresses: [{ip: '2001:DB8::1'}], ports: [{port: 1}]}]"),
    [
      'subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ],
  ],
  [
    "a slice of names",
    object(
      "discovery.k8s.io/v1",
      "EndpointSlice",
      "addressType: FQDN, endpoints: [{addresses: [a.b]}], ports: [{port: 80}]",
    ),
    ["spec.addressType: FQDN endpoints are deprecated"],
  ],
  [
    "a network policy",
    object(
      "networking.k8s.io/v1",
      "NetworkPolicy",
      "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: '2001:DB8::/32', except: ['2001:DB8:1::/64']}}]}], egress: [{to: [{ipBlock: {cidr: '2001:DB8::/32'}}]}]}",
    ),
    [
      'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
      'spec.ingress[0].from[0].ipBlock.except[0]: IPv6 CIDR value "2001:DB8:1::/64" should be in RFC 5952 canonical format ("2001:db8:1::/64")',
      'spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
    ],
  ],
  [
    "an ingress that names its class twice",
    object(
      "networking.k8s.io/v1",
      "Ingress",
      "spec: {ingressClassName: a, defaultBackend: {service: {name: s, port: {number: 80}}}}",
      "name: n, annotations: {kubernetes.io/ingress.class: a}",
    ),
    [],
  ],
  [
    "a runtime class",
    object(
      "node.k8s.io/v1",
      "RuntimeClass",
      "handler: h, scheduling: {nodeSelector: {beta.kubernetes.io/os: linux}}",
    ),
    ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'],
  ],
  [
    "a storage class",
    object(
      "storage.k8s.io/v1",
      "StorageClass",
      "provisioner: p, allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/zone, values: [a]}]}]",
    ),
    [
      'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    ],
  ],
  [
    "a storage capacity",
    object(
      "storage.k8s.io/v1",
      "CSIStorageCapacity",
      "storageClassName: s, nodeTopology: {matchLabels: {beta.kubernetes.io/os: linux}, matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}",
    ),
    [
      'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  ],
  [
    "a driver that asks for tokens",
    object("storage.k8s.io/v1", "CSIDriver", "spec: {tokenRequests: [{audience: a}]}"),
    [
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
    ],
  ],
  [
    "a name that files keep",
    object(
      "admissionregistration.k8s.io/v1",
      "ValidatingWebhookConfiguration",
      "webhooks: []",
      "name: a.static.k8s.io",
    ),
    [
      'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
    ],
  ],
];
