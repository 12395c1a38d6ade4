/** The pods of an autoscaler's target: those that the selector of its scale selects, and no other autoscaler's. */
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
  /** Of the autoscaler. */
  readonly key: string;
  readonly namespace: string;
  readonly pods: Informer<Pod>;
  readonly selectors: ScalerSelectors;
}

/** Records the selector as this autoscaler's. `text` is the scale's. */
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

/** Go's print of a key: `{name namespace}`. */
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
