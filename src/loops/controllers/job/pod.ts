/** Creates the pod of a Job. Pure. */
import type { Container, Job, Pod } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";
import { podFromTemplate } from "../pods/pod.ts";
import { indexAnnotation, trackingFinalizer } from "./tracked.ts";

const indexVariable = "JOB_COMPLETION_INDEX";
/** The server truncates longer prefixes, which would lose the index. */
const prefixMax = 58;

/** The index of a pod of an Indexed Job, which is set in annotation, label, name and environment. */
export interface PodIndex {
  readonly index: number;
  /** Number of failures of the index, where it is counted. */
  readonly annotations: Readonly<Record<string, string>>;
}

export function makeJobPod(job: Job, owner: OwnerReference, at: PodIndex | undefined): Pod {
  const { name = "", namespace = "" } = job.metadata ?? {};
  const template = job.spec?.template ?? {};
  const fixed = { namespace, owner, finalizers: [trackingFinalizer] };
  if (at === undefined) return podFromTemplate(template, { ...fixed, generateName: `${name}-` });
  const own = { [indexAnnotation]: String(at.index) };
  const tail = `-${at.index}-`;
  const pod = podFromTemplate(template, {
    ...fixed,
    generateName: `${name.slice(0, prefixMax - tail.length)}${tail}`,
    labels: own,
    annotations: { ...own, ...at.annotations },
  });
  const { containers = [], initContainers, ...spec } = pod.spec ?? {};
  return {
    ...pod,
    spec: {
      ...spec,
      hostname: `${name}-${at.index}`,
      containers: containers.map(withIndex),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withIndex) }),
    },
  };
}

function withIndex(container: Container): Container {
  if ((container.env ?? []).some((variable) => variable.name === indexVariable)) return container;
  const fieldPath = `metadata.labels['${indexAnnotation}']`;
  const fieldRef = { apiVersion: "v1", fieldPath };
  const variable = { name: indexVariable, valueFrom: { fieldRef } };
  return { ...container, env: [...(container.env ?? []), variable] };
}
