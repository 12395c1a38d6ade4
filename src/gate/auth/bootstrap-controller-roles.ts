/**
 * The rules of `system:controller:*` (without the prefix) for upstream's controllers that do not run
 * here, and of the roles in kube-system and kube-public. A controller that runs here declares its role
 * beside its code (`controllers/framework/role.ts`).
 *
 * One rule per line: `verbs | groups | resources [| names]`, or `verbs | URLs`. `core` is the group "", `read`, `write`
 * and `readwrite` stand for their verbs, `events` for the rule to write events; a deeper line continues the one above.
 * Facts of Kubernetes 1.36 with its default feature gates.
 */
export const absentControllerRules = `
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
service-controller
  read | core | services
  patch,update | core | services/status
  list,watch | core | nodes
  events
`;

/** Rules of roles in namespaces. Each role is named as `namespace/name`. */
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
