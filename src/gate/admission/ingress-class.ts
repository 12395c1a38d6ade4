/** DefaultIngressClass: an ingress without a class gets the one marked as default. */
import type { Ingress } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isResource, withSpec } from "./request.ts";
import { isMarked, newest } from "./storage.ts";

const group = "networking.k8s.io";
const mark = "ingressclass.kubernetes.io/is-default-class";
const legacyAnnotation = "kubernetes.io/ingress.class";

export function defaultIngressClass(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "DefaultIngressClass",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      if (!isResource(request, group, "ingresses") || request.operation !== "CREATE") return object;
      const named = object.metadata?.annotations?.[legacyAnnotation] !== undefined;
      if (named || (object as Ingress).spec?.ingressClassName !== undefined) return object;
      const classes = deps.lookup.list({ group, resource: "ingressclasses" }, "");
      const name = newest(classes.filter((entry) => isMarked(entry, [mark])))?.metadata?.name;
      return name === undefined ? object : withSpec(object, { ingressClassName: name });
    },
  };
}
