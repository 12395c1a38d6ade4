/**
 * NodeRestriction on certificates: a kubelet may request its own certificate, in its own name, and certificates for
 * pods that run on its node.
 */
import type { Pod } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import { failure } from "#api/status.ts";
import type { Fields } from "#api/validation/fields.ts";
import { part, text } from "#api/validation/fields.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { ReadCertificateRequest } from "./certificate-reader.ts";
import { quote, forbiddenError } from "./request.ts";

const userPrefix = "system:node:";
const mirrorAnnotation = "kubernetes.io/config.mirror";

const kubeletSigners = new Set([
  "kubernetes.io/kubelet-serving",
  "kubernetes.io/kube-apiserver-client-kubelet",
]);

/** A node may request certificates only in its own name. */
export function checkSigningRequest(
  request: AdmissionRequest,
  node: string,
  deps: { readonly readCertificateRequest: ReadCertificateRequest },
): void {
  if (request.operation !== "CREATE") return;
  const spec = part(request.object ?? {}, "spec");
  if (!kubeletSigners.has(text(spec, "signerName"))) return;
  const result = deps.readCertificateRequest(text(spec, "request"));
  if (result.kind === "unreadable") {
    throw forbiddenError(request, `unable to parse csr: ${result.fault}`);
  }
  if (result.facts.commonName === `${userPrefix}${node}`) return;
  throw forbiddenError(request, `can only create a node CSR with CN=${userPrefix}${node}`);
}

/**
 * A kubelet may request certificates for pods that run on its node. A name without an object may be a delay of the
 * caches: it answers 500, and the kubelet tries again. A contradiction answers 403.
 */
export function checkPodCertificateRequest(
  request: AdmissionRequest,
  node: string,
  { lookup }: { readonly lookup: Lister },
): void {
  if (request.operation !== "CREATE") {
    throw forbiddenError(request, `unexpected operation ${request.operation}`);
  }
  if (request.subresource !== "") {
    throw forbiddenError(request, `unexpected subresource ${request.subresource}`);
  }
  const spec = part(request.object ?? {}, "spec");
  checkRequestNode(request, spec, node, lookup);
  checkRequestPod(request, spec, lookup);
  checkRequestAccount(request, spec, lookup);
}

const owner = "named in the PodCertificateRequest";

function checkRequestNode(
  request: AdmissionRequest,
  spec: Fields,
  node: string,
  lookup: Lister,
): void {
  const name = text(spec, "nodeName");
  if (name !== node) {
    throw forbiddenError(
      request,
      `PodCertificateRequest.Spec.NodeName=${quote(name)}, which is not the requesting node ${quote(node)}`,
    );
  }
  const stored = lookup.get({ group: "", resource: "nodes" }, "", name);
  if (stored === undefined) {
    throw retryable(`while retrieving node ${quote(name)} ${owner}: node ${quote(name)} not found`);
  }
  const uid = text(spec, "nodeUID");
  if (stored.metadata?.uid === uid) return;
  throw retryable(
    `PodCertificateRequest for pod ${podOf(request, spec)} names node UID ${quote(uid)}, inconsistent with the running node (${quote(stored.metadata?.uid ?? "")})`,
  );
}

function checkRequestPod(request: AdmissionRequest, spec: Fields, lookup: Lister): void {
  const where = podOf(request, spec);
  const name = text(spec, "podName");
  const pod: Pod | undefined = lookup.get({ group: "", resource: "pods" }, request.namespace, name);
  if (pod === undefined) {
    throw retryable(`while retrieving pod ${where} ${owner}: pod ${quote(name)} not found`);
  }
  const uid = pod.metadata?.uid ?? "";
  if (text(spec, "podUID") !== uid) {
    throw retryable(
      `PodCertificateRequest for pod ${where} contains pod UID (${quote(text(spec, "podUID"))}) which differs from running pod ${quote(uid)}`,
    );
  }
  if (pod.spec?.nodeName !== text(spec, "nodeName")) {
    throw forbiddenError(
      request,
      `pod ${where} is not running on node ${quote(text(spec, "nodeName"))} ${owner}`,
    );
  }
  if (pod.metadata?.annotations?.[mirrorAnnotation] !== undefined) {
    throw forbiddenError(request, `pod ${where} is a mirror pod`);
  }
  const account = pod.spec?.serviceAccountName ?? "";
  if (text(spec, "serviceAccountName") === account) return;
  throw forbiddenError(
    request,
    `PodCertificateRequest for pod ${where} contains serviceAccountName (${quote(text(spec, "serviceAccountName"))}) that differs from running pod (${quote(account)})`,
  );
}

function checkRequestAccount(request: AdmissionRequest, spec: Fields, lookup: Lister): void {
  const name = text(spec, "serviceAccountName");
  const accounts = { group: "", resource: "serviceaccounts" };
  const account = lookup.get(accounts, request.namespace, name);
  if (account === undefined) {
    const where = quote(`${request.namespace}/${name}`);
    throw retryable(
      `while retrieving service account ${where} ${owner}: serviceaccount ${quote(name)} not found`,
    );
  }
  const uid = account.metadata?.uid ?? "";
  if (text(spec, "serviceAccountUID") === uid) return;
  throw retryable(
    `PodCertificateRequest for pod ${podOf(request, spec)} names service account UID ${quote(text(spec, "serviceAccountUID"))}, which differs from the running service account (${quote(uid)})`,
  );
}

function podOf(request: AdmissionRequest, spec: Fields): string {
  return quote(`${request.namespace}/${text(spec, "podName")}`);
}

function retryable(message: string) {
  return failure(500, "", message);
}
