/**
 * Finds the objects that belong to a node: its pods, and the objects that these refer to. It replaces upstream's graph
 * (plugin/pkg/auth/authorizer/node/graph.go) and uses the server's own caches.
 *
 *   secret, config map, claim, resource claim, account -> pod -> node
 *   secret -> volume -> claim -> pod -> node
 *   volume attachment, resource slice, pod certificate request -> node
 *
 * Holds  a mirror pod relates only to its node. A node makes its mirror pods itself, so an object that a mirror pod
 *        names must not become readable for the node.
 * Cost   a walk over the pods of one namespace; for a secret that no pod refers to, also a walk over all volumes.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { podReferences, type PodReferences } from "#api/pods/pod-references.ts";
import { volumeSecrets } from "#api/volumes/volume-secrets.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";
const pods = { group: "", resource: "pods" };
const volumes = { group: "", resource: "persistentvolumes" };
const attachments = { group: "storage.k8s.io", resource: "volumeattachments" };
const slices = { group: "resource.k8s.io", resource: "resourceslices" };
const certificateRequests = { group: "certificates.k8s.io", resource: "podcertificaterequests" };

/** Kind of object that may belong to a node. Objects of the kinds in `PodReferences` belong to it through the pods that refer to them. */
export type RelatedKind =
  | keyof PodReferences
  | "pods"
  | "volumes"
  | "attachments"
  | "slices"
  | "certificateRequests";

interface NodeSpec {
  readonly nodeName?: string;
  readonly claimRef?: { readonly namespace?: string; readonly name?: string };
}

export class NodeRelations {
  readonly #lookup: Lister;

  constructor(deps: { readonly lookup: Lister }) {
    this.#lookup = deps.lookup;
  }

  /** Returns whether the object of that kind, namespace and name belongs to `node`. */
  isRelated(node: string, kind: RelatedKind, namespace: string, name: string): boolean {
    switch (kind) {
      case "pods":
        return this.#names(node, pods, namespace, name);
      case "attachments":
        return this.#names(node, attachments, "", name);
      case "slices":
        return this.#names(node, slices, "", name);
      case "certificateRequests":
        return this.#names(node, certificateRequests, namespace, name);
      case "volumes":
        return this.#usesVolume(node, this.#lookup.get(volumes, "", name));
      case "secrets":
        return (
          this.#refersTo(node, kind, namespace, name) || this.#volumeSecret(node, namespace, name)
        );
      default:
        return this.#refersTo(node, kind, namespace, name);
    }
  }

  /** Returns whether the object names the node in spec.nodeName. */
  #names(
    node: string,
    resource: { readonly group: string; readonly resource: string },
    namespace: string,
    name: string,
  ): boolean {
    const object = this.#lookup.get(resource, namespace, name);
    return object !== undefined && specOf(object).nodeName === node;
  }

  #refersTo(node: string, kind: keyof PodReferences, namespace: string, name: string): boolean {
    if (namespace === "" || name === "") return false;
    return this.#lookup
      .list(pods, namespace)
      .some(
        (pod) =>
          specOf(pod).nodeName === node &&
          !isMirrorPod(pod) &&
          podReferences(pod)[kind].includes(name),
      );
  }

  #usesVolume(node: string, volume: AnyObject | undefined): boolean {
    const { namespace = "", name = "" } = (volume && specOf(volume).claimRef) ?? {};
    return this.#refersTo(node, "claims", namespace, name);
  }

  #volumeSecret(node: string, namespace: string, name: string): boolean {
    return this.#lookup
      .list(volumes, "")
      .some(
        (volume) =>
          volumeSecrets(volume).some(
            (secret) => secret.namespace === namespace && secret.name === name,
          ) && this.#usesVolume(node, volume),
      );
  }
}

function isMirrorPod(pod: AnyObject): boolean {
  return pod.metadata?.annotations?.[mirrorAnnotation] !== undefined;
}

function specOf(object: AnyObject): NodeSpec {
  return (object["spec"] ?? {}) as NodeSpec; // a stored object of one of the kinds above
}
