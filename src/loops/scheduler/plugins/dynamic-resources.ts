/** DynamicResources: Pods with resource claims are not placed; allocation is not supported yet. */
import type { Plugin } from "../plugin.ts";

export function dynamicResources(): Plugin {
  return {
    name: "DynamicResources",
    preFilter(info) {
      if ((info.pod.spec?.resourceClaims ?? []).length === 0) return undefined;
      return "pod asks for resource claims, which this scheduler does not support yet";
    },
    // No event can help; a changed spec makes the queue try the Pod again.
    hint: () => "skip",
  };
}
