/** A pod of a Job, pure. */
import type { Container, Job, Pod } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";
import { podFromTemplate } from "../shared/pod.ts";
import { indexAnnotation, trackingFinalizer } from "./tally.ts";

const indexVariable = "JOB_COMPLETION_INDEX";

/** `index` is given for Indexed Jobs only: the pod then knows its own by annotation, label, name and environment. */
export function makeJobPod(job: Job, owner: OwnerReference, index: number | undefined): Pod {
  const name = job.metadata?.name ?? "";
  const namespace = job.metadata?.namespace ?? "";
  const finalizers = [trackingFinalizer];
  const template = job.spec?.template ?? {};
  if (index === undefined) {
    return podFromTemplate(template, { namespace, generateName: `${name}-`, owner, finalizers });
  }
  const own = { [indexAnnotation]: String(index) };
  const options = {
    namespace,
    generateName: `${name}-${index}-`,
    owner,
    finalizers,
    labels: own,
    annotations: own,
  };
  const pod = podFromTemplate(template, options);
  const spec = pod.spec ?? { containers: [] };
  return {
    ...pod,
    spec: {
      ...spec,
      hostname: `${name}-${index}`,
      containers: spec.containers.map(withIndex),
      ...(spec.initContainers === undefined
        ? {}
        : { initContainers: spec.initContainers.map(withIndex) }),
    },
  };
}

function withIndex(container: Container): Container {
  const fieldPath = `metadata.labels['${indexAnnotation}']`;
  if ((container.env ?? []).some((variable) => variable.name === indexVariable)) return container;
  const variable = {
    name: indexVariable,
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } },
  };
  return { ...container, env: [...(container.env ?? []), variable] };
}
