/**
 * The rules of `system:controller:*` (without the prefix), one per controller, and
 * of the roles in kube-system and kube-public.
 *
 * One rule per line: `verbs | groups | resources [| names]`, or `verbs | URLs`. `core` is the group "",
 * `read`, `write` and `readwrite` stand for their verbs, `events` for the rule to write events; a
 * deeper line goes on with the one above. Facts of Kubernetes 1.36 with its default feature gates.
 */
export const controllerRoleRules = `
attachdetach-controller
  list,watch | core | persistentvolumeclaims,persistentvolumes
  read | core | nodes
  patch,update | core | nodes/status
  list,watch | core | pods
  events
  create,delete,get,list,watch | storage.k8s.io | volumeattachments
  read | storage.k8s.io | csidrivers
  read | storage.k8s.io | csinodes
certificate-controller
  delete,get,list,watch | certificates.k8s.io | certificatesigningrequests
  update | certificates.k8s.io | certificatesigningrequests/approval,
      certificatesigningrequests/status
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
  sign | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client,
      kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,
      kubernetes.io/legacy-unknown
  create | authorization.k8s.io | subjectaccessreviews
  events
clusterrole-aggregation-controller
  escalate,get,list,patch,update,watch | rbac.authorization.k8s.io | clusterroles
cronjob-controller
  get,list,update,watch | batch | cronjobs
  create,delete,get,list,patch,update,watch | batch | jobs
  update | batch | cronjobs/status
  update | batch | cronjobs/finalizers
  delete,list,watch | core | pods
  events
daemon-set-controller
  read | apps,extensions | daemonsets
  update | apps,extensions | daemonsets/status
  update | apps,extensions | daemonsets/finalizers
  list,watch | core | nodes
  create,delete,list,patch,watch | core | pods
  create | core | pods/binding
  create,delete,get,list,patch,update,watch | apps | controllerrevisions
  events
deployment-controller
  get,list,update,watch | apps,extensions | deployments
  update | apps,extensions | deployments/status
  update | apps,extensions | deployments/finalizers
  create,delete,get,list,patch,update,watch | apps,extensions | replicasets
  get,list,update,watch | core | pods
  events
device-taint-eviction-controller
  delete,get,list,watch | core | pods
  patch,update | core | pods/status
  read | resource.k8s.io | resourceclaims
  read | resource.k8s.io | resourceslices
  read | resource.k8s.io | deviceclasses
  events
disruption-controller
  read | apps,extensions | deployments
  read | apps,extensions | replicasets
  read | core | replicationcontrollers
  read | policy | poddisruptionbudgets
  read | apps | statefulsets
  update | policy | poddisruptionbudgets/status
  patch,update | core | pods/status
  get | * | */scale
  events
endpoint-controller
  read | core | pods,services
  create,delete,get,list,update,watch | core | endpoints
  create | core | endpoints/restricted
  events
endpointslice-controller
  read | core | nodes,pods,services
  update | core | services/finalizers
  create,delete,get,list,update,watch | discovery.k8s.io | endpointslices
  events
endpointslicemirroring-controller
  read | core | endpoints,services
  update | core | services/finalizers
  update | core | endpoints/finalizers
  create,delete,get,list,update,watch | discovery.k8s.io | endpointslices
  events
ephemeral-volume-controller
  read | core | pods
  update | core | pods/finalizers
  create,get,list,watch | core | persistentvolumeclaims
  events
expand-controller
  get,list,patch,update,watch | core | persistentvolumes
  patch,update | core | persistentvolumeclaims/status
  read | core | persistentvolumeclaims
  events
generic-garbage-collector
  delete,get,list,patch,update,watch | * | *
  events
horizontal-pod-autoscaler
  read | autoscaling | horizontalpodautoscalers
  update | autoscaling | horizontalpodautoscalers/status
  get,update | * | */scale
  list,watch | core | pods
  list,watch | metrics.k8s.io | pods
  read | custom.metrics.k8s.io | *
  read | external.metrics.k8s.io | *
  events
job-controller
  get,list,patch,update,watch | batch | jobs
  update | batch | jobs/status
  update | batch | jobs/finalizers
  create,delete,list,patch,watch | core | pods
  events
legacy-service-account-token-cleaner
  get | core | configmaps | kube-apiserver-legacy-service-account-token-tracking
  delete,patch | core | secrets
namespace-controller
  delete,get,list,watch | core | namespaces
  update | core | namespaces/finalize,namespaces/status
  delete,deletecollection,get,list,watch | * | *
node-controller
  delete,get,list,patch,update,watch | core | nodes
  patch,update | core | nodes/status
  patch,update | core | pods/status
  delete,get,list,watch | core | pods
  events
persistent-volume-binder
  create,delete,get,list,update,watch | core | persistentvolumes
  update | core | persistentvolumes/status
  get,list,update,watch | core | persistentvolumeclaims
  update | core | persistentvolumeclaims/status
  create,delete,get,list,watch | core | pods
  read | storage.k8s.io | storageclasses
  list,watch | core | nodes
  events
  watch | core | events
pod-garbage-collector
  delete,list,watch | core | pods
  read | core | nodes
  patch | core | pods/status
pv-protection-controller
  get,list,update,watch | core | persistentvolumes
  events
pvc-protection-controller
  get,list,update,watch | core | persistentvolumeclaims
  update | core | persistentvolumeclaims/status
  read | core | pods
  events
replicaset-controller
  get,list,update,watch | apps,extensions | replicasets
  update | apps,extensions | replicasets/status
  update | apps,extensions | replicasets/finalizers
  create,delete,list,patch,watch | core | pods
  events
replication-controller
  get,list,update,watch | core | replicationcontrollers
  update | core | replicationcontrollers/status
  update | core | replicationcontrollers/finalizers
  create,delete,list,patch,watch | core | pods
  events
resource-claim-controller
  read | core | pods
  update | core | pods/finalizers
  create,delete,get,list,watch | resource.k8s.io | resourceclaims
  patch,update | resource.k8s.io | resourceclaims,resourceclaims/status
  patch,update | core | pods/status
  events
  patch,update | resource.k8s.io | resourceclaims/binding
resourcequota-controller
  list,watch | * | *
  update | core | resourcequotas/status
  events
root-ca-cert-publisher
  create,update | core | configmaps
  events
route-controller
  list,watch | core | nodes
  patch | core | nodes/status
  events
selinux-warning-controller
  events
  read | core | persistentvolumes
  read | core | persistentvolumeclaims
  read | core | pods
  read | storage.k8s.io | csidrivers
service-account-controller
  create | core | serviceaccounts
  events
service-cidrs-controller
  get,list,patch,update,watch | networking.k8s.io | servicecidrs
  patch,update | networking.k8s.io | servicecidrs/finalizers
  patch,update | networking.k8s.io | servicecidrs/status
  read | networking.k8s.io | ipaddresses
  events
service-controller
  read | core | services
  patch,update | core | services/status
  list,watch | core | nodes
  events
statefulset-controller
  list,watch | core | pods
  read | apps | statefulsets
  update | apps | statefulsets/status
  update | apps | statefulsets/finalizers
  create,delete,get,patch,update | core | pods
  create,delete,get,list,patch,update,watch | apps | controllerrevisions
  create,get,list,watch | core | persistentvolumeclaims
  delete,update | core | persistentvolumeclaims
  update | core | pods/finalizers
  events
ttl-after-finished-controller
  delete,get,list,watch | batch | jobs
  events
ttl-controller
  list,patch,update,watch | core | nodes
  events
validatingadmissionpolicy-status-controller
  read | admissionregistration.k8s.io | validatingadmissionpolicies
  get,patch,update | admissionregistration.k8s.io | validatingadmissionpolicies/status
  events
volumeattributesclass-protection-controller
  read | core | persistentvolumeclaims
  read | core | persistentvolumes
  get,list,update,watch | storage.k8s.io | volumeattributesclasses
  events
`;

/** `namespace/name`. */
export const namespaceRoleRules = `
kube-public/system:controller:bootstrap-signer
  read | core | configmaps
  update | core | configmaps | cluster-info
  events
kube-system/extension-apiserver-authentication-reader
  read | core | configmaps | extension-apiserver-authentication
kube-system/system::leader-locking-kube-controller-manager
  create,get,list,update,watch | coordination.k8s.io | leases
  create,get,list,update,watch | coordination.k8s.io | leasecandidates
kube-system/system::leader-locking-kube-scheduler
  create,get,list,update,watch | coordination.k8s.io | leases
  create,get,list,update,watch | coordination.k8s.io | leasecandidates
kube-system/system:controller:bootstrap-signer
  read | core | secrets
kube-system/system:controller:cloud-provider
  create,get,list,watch | core | configmaps
kube-system/system:controller:token-cleaner
  delete,get,list,watch | core | secrets
  events
`;
