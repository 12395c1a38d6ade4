/**
 * Defaults of pod specs and pod templates (upstream pkg/apis/core/v1/defaults.go and the `+default`
 * markers), plus the fields that upstream's conversion writes: `resources: {}` of containers, and the
 * old name of the service account. All idempotent; key order follows the defaulting order.
 */
import type { Fields } from "../validation/fields.ts";
import { has, isFields, number, text } from "../validation/fields.ts";
import { pullPolicyFor } from "./image.ts";
import { podLevelRequests } from "./pod-resources.ts";
import { quantities, resourceLists } from "./quantities.ts";
import type { Rule } from "./rules.ts";
import { always, chain, each, fill, fillZero, set, when, within } from "./rules.ts";

const fieldRef: Rule = fillZero({ apiVersion: "v1" });
const resourceFieldRef: Rule = chain(fill({ divisor: "0" }), quantities("divisor"));
const httpGet: Rule = fillZero({ path: "/", scheme: "HTTP" });

const probe: Rule = chain(
  within("httpGet", httpGet),
  within("grpc", fill({ service: "" })),
  fillZero({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
);

const lifecycleHandler: Rule = within("httpGet", httpGet);

function pullPolicy(container: Fields): Fields {
  if (text(container, "imagePullPolicy") !== "") return container;
  return set(container, "imagePullPolicy", pullPolicyFor(text(container, "image")));
}

const resourceRequirements: Rule = resourceLists("limits", "requests");

const envVar: Rule = within(
  "valueFrom",
  within("fieldRef", fieldRef),
  within("resourceFieldRef", resourceFieldRef),
  within("fileKeyRef", fill({ optional: false })),
);

const container: Rule = chain(
  each("ports", fillZero({ protocol: "TCP" })),
  each("env", envVar),
  always("resources", resourceRequirements),
  within("livenessProbe", probe),
  within("readinessProbe", probe),
  within("startupProbe", probe),
  within("lifecycle", within("postStart", lifecycleHandler), within("preStop", lifecycleHandler)),
  pullPolicy,
  fillZero({
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  }),
);

const downwardItem: Rule = chain(
  within("fieldRef", fieldRef),
  within("resourceFieldRef", resourceFieldRef),
);
/** Octal 0644. */
const fileMode = 420;
const hourSeconds = 3600;

const projectedSource: Rule = chain(
  within("downwardAPI", each("items", downwardItem)),
  within("serviceAccountToken", fill({ expirationSeconds: hourSeconds })),
);

/** A volume without any source is an emptyDir. */
function volumeSource(volume: Fields): Fields {
  for (const field in volume) {
    if (field !== "name" && has(volume, field)) return volume;
  }
  return { ...volume, emptyDir: {} };
}

function imagePullPolicy(image: Fields): Fields {
  if (text(image, "pullPolicy") !== "") return image;
  return set(image, "pullPolicy", pullPolicyFor(text(image, "reference")));
}

export const claimSpec: Rule = chain(
  fill({ volumeMode: "Filesystem" }),
  always("resources", resourceRequirements),
);

export const azureDisk: Rule = fill({
  cachingMode: "ReadWrite",
  fsType: "ext4",
  readOnly: false,
  kind: "Shared",
});
export const iscsi: Rule = fillZero({ iscsiInterface: "default" });
export const rbd: Rule = fillZero({ pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" });
export const scaleIO: Rule = fillZero({ storageMode: "ThinProvisioned", fsType: "xfs" });
export const hostPath: Rule = fill({ type: "" });

const volume: Rule = chain(
  volumeSource,
  within("hostPath", hostPath),
  within("secret", fill({ defaultMode: fileMode })),
  within("configMap", fill({ defaultMode: fileMode })),
  within("downwardAPI", fill({ defaultMode: fileMode }), each("items", downwardItem)),
  within("projected", fill({ defaultMode: fileMode }), each("sources", projectedSource)),
  within("emptyDir", quantities("sizeLimit")),
  within("iscsi", iscsi),
  within("rbd", rbd),
  within("azureDisk", azureDisk),
  within("scaleIO", scaleIO),
  within("image", imagePullPolicy),
  within("ephemeral", within("volumeClaimTemplate", always("metadata"), within("spec", claimSpec))),
);

/** serviceAccount and serviceAccountName have the same value; the new name wins. */
export function serviceAccountNames(spec: Fields): Fields {
  const name = text(spec, "serviceAccountName") || text(spec, "serviceAccount");
  if (name === "") return spec;
  return set(set(spec, "serviceAccountName", name), "serviceAccount", name);
}

/** Upstream's conversion reads a negative grace period as one second; in pods, not in templates. */
function gracePeriod(spec: Fields): Fields {
  return number(spec, "terminationGracePeriodSeconds") < 0
    ? set(spec, "terminationGracePeriodSeconds", 1)
    : spec;
}

/** Defaults of every pod spec, in pods and in templates. */
const podSpec: Rule = chain(
  each("volumes", volume),
  each("initContainers", container),
  each("containers", container),
  each("ephemeralContainers", container),
  within("resources", resourceRequirements),
  resourceLists("overhead"),
  serviceAccountNames,
  fillZero({ restartPolicy: "Always" }),
  fill({ terminationGracePeriodSeconds: 30 }),
  fillZero({ dnsPolicy: "ClusterFirst" }),
  fill({ securityContext: {} }),
  fillZero({ schedulerName: "default-scheduler" }),
);

export const podTemplate: Rule = chain(always("metadata"), always("spec", podSpec));

/** Requests default to limits. Pods only: templates stay as written. */
function requestsFromLimits(resources: Fields): Fields {
  const limits = resources["limits"];
  if (!isFields(limits)) return resources;
  const given = resources["requests"];
  return set(resources, "requests", fill(limits)(isFields(given) ? given : {}));
}

function hostPort(port: Fields): Fields {
  return number(port, "hostPort") === 0 && number(port, "containerPort") !== 0
    ? set(port, "hostPort", port["containerPort"])
    : port;
}

const podContainer: Rule = within("resources", requestsFromLimits);
const hostPorts: Rule = each("ports", hostPort);

export const pod: Rule = chain(
  always("spec", podSpec),
  always("status"),
  within(
    "spec",
    each("initContainers", podContainer),
    each("containers", podContainer),
    podLevelRequests,
    gracePeriod,
    fill({ enableServiceLinks: true }),
    when(
      (spec) => spec["hostNetwork"] === true,
      each("containers", hostPorts),
      each("initContainers", hostPorts),
    ),
  ),
);
