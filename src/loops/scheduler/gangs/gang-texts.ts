/** What is said of the Pods of a group that was not placed, in the words of upstream's two schedulers of groups. */
import type { Gang } from "./gangs.ts";

export interface GroupTexts {
  /** Of a Pod that had a node, while others had none. */
  readonly sibling: (gang: Gang, culprit: string) => string;
  /** Of a Pod that no node took for the reasons `own`. */
  readonly refused: (gang: Gang, own: string, podName: string) => string;
}

/** kube-scheduler's. */
export const nativeTexts: GroupTexts = {
  sibling: () =>
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod",
  refused: (_gang, own) => own,
};

/** The coscheduling plugin's of sigs.k8s.io/scheduler-plugins. */
export const coschedulingTexts: GroupTexts = {
  sibling: () => "optimistic rejection in PostFilter",
  refused: ({ ref }, own, podName) => {
    const group = `${ref.namespace}/${ref.name}`;
    return `${own} PodGroup ${group} gets rejected due to Pod ${podName} is unschedulable even after PostFilter`;
  },
};
