/** The pods of an autoscaler's target: selected by its scale's selector and by no other autoscaler. */
import type { Pod } from "#api/gen/types.ts";
import {
  labelsMatch,
  type LabelSelector,
  parseLabelSelector,
  printLabelSelector,
  SelectorError,
} from "#api/selectors/label-selector.ts";
import type { Informer } from "#client/informer.ts";
import type { Said, Warning } from "./said.ts";
import type { ScalerSelectors } from "./scaler-selectors.ts";

export type Selected =
  | { readonly kind: "pods"; readonly pods: readonly Pod[]; readonly text: string }
  | { readonly kind: "refused"; readonly warning: Warning; readonly scalingActive: Said };

interface Place {
  /** Key of the autoscaler. */
  readonly key: string;
  readonly namespace: string;
  readonly pods: Informer<Pod>;
  readonly selectors: ScalerSelectors;
}

/** Selects the pods and records the selector for this autoscaler. `text`: the scale's selector. */
export function selectPods(text: string, { key, namespace, pods, selectors }: Place): Selected {
  if (text === "") {
    const message = "the HPA target's scale is missing a selector";
    return refusal("SelectorRequired", "selector is required", {
      reason: "InvalidSelector",
      message,
    });
  }
  const selector = parse(text);
  if (typeof selector === "string") {
    const message = `couldn't convert selector into a corresponding internal selector object: ${selector}`;
    return refusal("InvalidSelector", message, { reason: "InvalidSelector", message });
  }
  selectors.set(key, selector);
  const selected = pods
    .list(namespace)
    .filter((pod) => labelsMatch(selector, pod.metadata?.labels));
  const scalers = selectors.selecting(namespace, selected);
  if (scalers.length > 1) {
    const message = `pods by selector ${text} are controlled by multiple HPAs: [${scalers.map(asStruct).join(" ")}]`;
    return refusal("AmbiguousSelector", message, { reason: "AmbiguousSelector", message });
  }
  return { kind: "pods", pods: selected, text: printLabelSelector(selector) };
}

function refusal(reason: string, message: string, said: Omit<Said, "status">): Selected {
  return {
    kind: "refused",
    warning: { reason, message },
    scalingActive: { status: "False", ...said },
  };
}

/** A key as Go prints its struct: `{name namespace}`. */
function asStruct(key: string): string {
  const slash = key.indexOf("/");
  return `{${key.slice(slash + 1)} ${key.slice(0, slash)}}`;
}

function parse(text: string): LabelSelector | string {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
}
