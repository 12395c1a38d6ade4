/** Messages for the Pods of a group that was not placed, in the words of upstream's two group schedulers. */
import type { Gang } from "./gangs.ts";

export interface GroupTexts {
  /** Returns the message for a Pod that fits a node while other Pods of its group fit none. */
  readonly sibling: (gang: Gang, culprit: string) => string;
  /** Returns the message for a Pod that fits no node. `own`: the reasons for that Pod. */
  readonly refused: (gang: Gang, own: string, podName: string) => string;
}

/** Messages of kube-scheduler. */
export const nativeTexts: GroupTexts = {
  sibling: () =>
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod",
  refused: (_gang, own) => own,
};

/** Messages of the coscheduling plugin of sigs.k8s.io/scheduler-plugins. */
export const coschedulingTexts: GroupTexts = {
  sibling: () => "optimistic rejection in PostFilter",
  refused: ({ ref }, own, podName) => {
    const group = `${ref.namespace}/${ref.name}`;
    return `${own} PodGroup ${group} gets rejected due to Pod ${podName} is unschedulable even after PostFilter`;
  },
};
