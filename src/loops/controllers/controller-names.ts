/**
 * The names that `--controllers` accepts: upstream's names, their older spellings, and this product's own controller
 * names, which events, logs and metrics show.
 *
 * Source: cmd/kube-controller-manager/names and app, 1.36; cloud-provider/names. A name of an upstream controller that
 *         does not exist here is accepted, and selects nothing.
 */

/** Upstream's name, its older aliases, and our name if it differs. */
const table = `
attachdetach: persistentvolume-attach-detach-controller = attachdetach-controller
bootstrapsigner: bootstrap-signer-controller
cloud-node-lifecycle: cloud-node-lifecycle-controller
clusterrole-aggregation: clusterrole-aggregation-controller
cronjob: cronjob-controller
csrapproving: certificatesigningrequest-approving-controller
csrcleaner: certificatesigningrequest-cleaner-controller
csrsigning: certificatesigningrequest-signing-controller
daemonset: daemonset-controller
deployment: deployment-controller
disruption: disruption-controller
endpoint: endpoints-controller
endpointslice: endpointslice-controller = endpoint-slice-controller
endpointslicemirroring: endpointslice-mirroring-controller = endpoint-slice-mirroring-controller
ephemeral-volume: ephemeral-volume-controller = ephemeral_volume
garbagecollector: garbage-collector-controller = garbage-collector
horizontalpodautoscaling: horizontal-pod-autoscaler-controller = horizontal-pod-autoscaler
job: job-controller
legacy-service-account-token-cleaner: legacy-serviceaccount-token-cleaner-controller
namespace: namespace-controller
nodeipam: node-ipam-controller
nodelifecycle: node-lifecycle-controller = node-controller
persistentvolume-binder: persistentvolume-binder-controller = persistentvolume-controller
persistentvolume-expander: persistentvolume-expander-controller
podgc: pod-garbage-collector-controller = pod-garbage-collector
pv-protection: persistentvolume-protection-controller = pv-protection-controller
pvc-protection: persistentvolumeclaim-protection-controller = pvc-protection-controller
replicaset: replicaset-controller
replicationcontroller: replicationcontroller-controller = replication-controller
resource-claim-controller: resourceclaim-controller
resourcequota: resourcequota-controller
root-ca-cert-publisher: root-ca-certificate-publisher-controller = root-ca-certificate-publisher
route: node-route-controller
service: service-lb-controller
serviceaccount: serviceaccount-controller
serviceaccount-token: serviceaccount-token-controller
statefulset: statefulset-controller
storage-version-gc: storageversion-garbage-collector-controller
svm: storage-version-migrator-controller
tokencleaner: token-cleaner-controller
ttl: ttl-controller
ttl-after-finished: ttl-after-finished-controller
: device-taint-eviction-controller
: kube-apiserver-serving-clustertrustbundle-publisher-controller
: podcertificaterequest-cleaner-controller
: podgroup-protection-controller
: resourcepoolstatusrequest-controller
: selinux-warning-controller
: service-cidr-controller
: taint-eviction-controller
: validatingadmissionpolicy-status-controller
: volumeattributesclass-protection-controller
`;

const components = new Map(
  table
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [alias = "", names = ""] = line.split(": ");
      const [name = "", component = name] = names.split(" = ");
      const spellings = [alias.replace(":", "").trim(), name, component];
      return spellings.filter((one) => one !== "").map((one) => [one, component] as const);
    }),
);

/** Undefined: the controller is unknown. */
function componentOf(name: string): string | undefined {
  return components.get(name);
}

/** As upstream: the first entry with the controller's name decides; `*` stands for controllers that are not named. */
export function isChosen(component: string, chosen: readonly string[]): boolean {
  for (const entry of chosen) {
    const isOff = entry.startsWith("-");
    if (componentOf(isOff ? entry.slice(1) : entry) === component) return !isOff;
  }
  return chosen.includes("*");
}

/** The first entry that names no controller; undefined: all are valid. */
export function unknownController(chosen: readonly string[]): string | undefined {
  const names = chosen.filter((entry) => entry !== "*").map((entry) => entry.replace(/^-/, ""));
  return names.find((name) => componentOf(name) === undefined);
}
