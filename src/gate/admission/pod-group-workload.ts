/** PodGroupWorkloadExists: the Workload named by a new PodGroup must exist and contain the named template. */
import type { PodGroup, Workload } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { forbiddenError, isResource, quote } from "./request.ts";

const group = "scheduling.k8s.io";
const workloads = { group, resource: "workloads" };

export function podGroupWorkloadExists(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "PodGroupWorkloadExists",
    validate(request) {
      if (request.operation !== "CREATE" || !isResource(request, group, "podgroups")) return;
      if (request.info.gates?.has("GenericWorkload") !== true) return;
      const podGroup = request.object as unknown as PodGroup | undefined;
      const ref = podGroup?.spec.podGroupTemplateRef?.workload;
      if (ref === undefined) return;
      const { podGroupTemplateName, workloadName } = ref;
      const refuse = (why: string) => forbiddenError(request, `PodGroup rejected: ${why}`);
      const found = deps.lookup.get(workloads, request.namespace, workloadName);
      if (found === undefined) throw refuse(`Workload ${quote(workloadName)} not found`);
      if (found.metadata?.deletionTimestamp !== undefined) {
        throw refuse(`Workload ${quote(workloadName)} is being deleted`);
      }
      const { podGroupTemplates } = (found as unknown as Workload).spec;
      if (podGroupTemplates.some(({ name }) => name === podGroupTemplateName)) return;
      const template = `PodGroupTemplate ${quote(podGroupTemplateName)}`;
      throw refuse(`${template} not found in Workload ${quote(workloadName)}`);
    },
  };
}
