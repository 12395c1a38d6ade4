/** Rights of the three certificate controllers, as one service account. */
import type { ControllerRole } from "../framework/role.ts";

export const certificateRole: ControllerRole = {
  account: "certificate-controller",
  rules: [
    "delete,get,list,watch | certificates.k8s.io | certificatesigningrequests",
    "update | certificates.k8s.io | certificatesigningrequests/approval,certificatesigningrequests/status",
    "approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet",
    "sign | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client,kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown",
    "create | authorization.k8s.io | subjectaccessreviews",
    "events",
  ],
};
