/** Rules of pods and of everything that makes them. */
import type { Rules } from "../strategies/build.ts";
import { validateCronJob, validateCronJobUpdate } from "./cron-jobs.ts";
import { validateJob, validateJobUpdate } from "./jobs.ts";
import { validateJobStatus } from "./job-status.ts";
import { validateResize } from "./pod-resize.ts";
import {
  validateBinding,
  validateEphemeralContainers,
  validatePod,
  validatePodStatus,
  validatePodTemplate,
  validatePodUpdate,
} from "./pods.ts";
import {
  validateRevision,
  validateRevisionUpdate,
  validateStatefulSet,
  validateStatefulSetStatus,
  validateStatefulSetUpdate,
} from "./stateful-sets.ts";
import { podWarnings, templateWarnings, warnJobName } from "./warnings.ts";
import {
  validateDaemonSet,
  validateDaemonSetStatus,
  validateDaemonSetUpdate,
  validateDeployment,
  validateDeploymentStatus,
  validateDeploymentUpdate,
  validateReplicaSet,
  validateReplicaSetUpdate,
  validateReplicaStatus,
  validateReplicationController,
} from "./workloads.ts";

export const podRules: Readonly<Record<string, Rules>> = {
  "/pods": {
    validate: validatePod,
    validateUpdate: validatePodUpdate,
    subresources: {
      status: validatePodStatus,
      ephemeralcontainers: validateEphemeralContainers,
      resize: validateResize,
    },
    warnings: podWarnings,
  },
  "/bindings": { validate: validateBinding },
  "/podtemplates": { validate: validatePodTemplate, warnings: templateWarnings(["template"]) },
  "/replicationcontrollers": {
    validate: validateReplicationController,
    subresources: { status: validateReplicaStatus },
    warnings: templateWarnings(["spec", "template"]),
  },
};

export const appsRules: Readonly<Record<string, Rules>> = {
  "apps/deployments": {
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
    subresources: { status: validateDeploymentStatus },
    warnings: templateWarnings(["spec", "template"]),
  },
  "apps/replicasets": {
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    subresources: { status: validateReplicaStatus },
    warnings: templateWarnings(["spec", "template"]),
  },
  "apps/daemonsets": {
    validate: validateDaemonSet,
    validateUpdate: validateDaemonSetUpdate,
    subresources: { status: validateDaemonSetStatus },
    warnings: templateWarnings(["spec", "template"]),
  },
  "apps/statefulsets": {
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
    subresources: { status: validateStatefulSetStatus },
    warnings: templateWarnings(["spec", "template"]),
  },
  "apps/controllerrevisions": {
    validate: validateRevision,
    validateUpdate: validateRevisionUpdate,
  },
};

const jobWarnings = templateWarnings(["spec", "template"]);
const cronJobWarnings = templateWarnings(["spec", "jobTemplate", "spec", "template"]);

export const batchRules: Readonly<Record<string, Rules>> = {
  "batch/jobs": {
    validate: validateJob,
    validateUpdate: validateJobUpdate,
    subresources: { status: validateJobStatus },
    warnings: (job, old) => [...warnJobName(job, old), ...jobWarnings(job, old)],
  },
  "batch/cronjobs": {
    validate: validateCronJob,
    validateUpdate: validateCronJobUpdate,
    warnings: (job, old) => [...warnJobName(job, old), ...cronJobWarnings(job, old)],
  },
};
