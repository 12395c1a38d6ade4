/** Rules of pods and of all kinds with a pod template. */
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
import {
  controllerWarnings,
  daemonWarnings,
  jobSpecWarnings,
  namedWarnings,
  scheduleWarnings,
  statefulSetWarnings,
  templateWarnings,
} from "./warnings.ts";
import { appArmorWarnings } from "./apparmor.ts";
import { podStatusWarnings, podWarnings } from "./warnings-pods.ts";
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
    sentWarnings: appArmorWarnings,
    warnings: podWarnings,
    subresourceWarnings: { status: podStatusWarnings },
  },
  "/bindings": { validate: validateBinding },
  "/podtemplates": { validate: validatePodTemplate, warnings: templateWarnings(["template"]) },
  "/replicationcontrollers": {
    validate: validateReplicationController,
    subresources: { status: validateReplicaStatus },
    warnings: (object, old) => [...namedWarnings(object, old), ...controllerWarnings(object, old)],
  },
};

const template = templateWarnings(["spec", "template"]);
const namedTemplateWarnings: Rules["warnings"] = (object, old) => [
  ...namedWarnings(object, old),
  ...template(object, old),
];

export const appsRules: Readonly<Record<string, Rules>> = {
  "apps/deployments": {
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
    subresources: { status: validateDeploymentStatus },
    warnings: namedTemplateWarnings,
  },
  "apps/replicasets": {
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    subresources: { status: validateReplicaStatus },
    warnings: namedTemplateWarnings,
  },
  "apps/daemonsets": {
    validate: validateDaemonSet,
    validateUpdate: validateDaemonSetUpdate,
    subresources: { status: validateDaemonSetStatus },
    warnings: daemonWarnings,
  },
  "apps/statefulsets": {
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
    subresources: { status: validateStatefulSetStatus },
    warnings: statefulSetWarnings,
  },
  "apps/controllerrevisions": {
    validate: validateRevision,
    validateUpdate: validateRevisionUpdate,
  },
};

const jobWarnings = jobSpecWarnings(["spec"]);
const cronJobWarnings = jobSpecWarnings(["spec", "jobTemplate", "spec"]);

export const batchRules: Readonly<Record<string, Rules>> = {
  "batch/jobs": {
    validate: validateJob,
    validateUpdate: validateJobUpdate,
    subresources: { status: validateJobStatus },
    warnings: (job, old) => [...namedWarnings(job, old), ...jobWarnings(job, old)],
  },
  "batch/cronjobs": {
    validate: validateCronJob,
    validateUpdate: validateCronJobUpdate,
    warnings: (job, old) => [
      ...namedWarnings(job, old),
      ...cronJobWarnings(job, old),
      ...scheduleWarnings(job, old),
    ],
  },
};
