/** Defaults of cluster-level kinds: networking, storage, RBAC, admission, flow control, DRA ... */
import type { Fields } from "../validation/fields.ts";
import { isFields, items, part, text } from "../validation/fields.ts";
import { quantities, resourceLists } from "./quantities.ts";
import type { Rule } from "./rules.ts";
import { always, chain, each, fill, fillZero, set, when, within } from "./rules.ts";

const tcp: Rule = fillZero({ protocol: "TCP" });

/** Always Ingress; Egress too when there are egress rules. */
function policyTypes(spec: Fields): Fields {
  const given = spec["policyTypes"];
  if (Array.isArray(given) && given.length > 0) return spec;
  const egress = items(spec, "egress").length > 0;
  return set(spec, "policyTypes", egress ? ["Ingress", "Egress"] : ["Ingress"]);
}

export const networkPolicy: Rule = always(
  "spec",
  always("podSelector"),
  each("ingress", each("ports", tcp)),
  each("egress", each("ports", tcp)),
  policyTypes,
);

export const ingress: Rule = chain(always("spec"), always("status", always("loadBalancer")));

export const ingressClass: Rule = always("spec", within("parameters", fill({ scope: "Cluster" })));

export const serviceCidr: Rule = chain(always("spec"), always("status"));

export const endpointSlice: Rule = chain(
  each("ports", fill({ name: "", protocol: "TCP" })),
  each("endpoints", always("conditions")),
);

export const storageClass: Rule = fill({
  reclaimPolicy: "Delete",
  volumeBindingMode: "Immediate",
});

function lifecycleModes(spec: Fields): Fields {
  const given = spec["volumeLifecycleModes"];
  if (Array.isArray(given) && given.length > 0) return spec;
  return set(spec, "volumeLifecycleModes", ["Persistent"]);
}

export const csiDriver: Rule = always(
  "spec",
  fill({
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
  }),
  lifecycleModes,
  fill({ requiresRepublish: false, seLinuxMount: false }),
);

export const csiNode: Rule = always("spec");
export const csiStorageCapacity: Rule = quantities("capacity", "maximumVolumeSize");

const rbacGroup = "rbac.authorization.k8s.io";
const subject: Rule = when(
  (who) => text(who, "kind") === "User" || text(who, "kind") === "Group",
  fillZero({ apiGroup: rbacGroup }),
);

export const roleBinding: Rule = chain(
  within("roleRef", fillZero({ apiGroup: rbacGroup })),
  each("subjects", subject),
);

export const priorityClass: Rule = fill({ preemptionPolicy: "PreemptLowerPriority" });

export const podGroup: Rule = always("spec", fill({ disruptionMode: "Pod" }));

export const runtimeClass: Rule = within("overhead", resourceLists("podFixed"));

export const podDisruptionBudget: Rule = chain(
  always("spec"),
  always(
    "status",
    fill({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }),
  ),
);

const webhookClient: Rule = within("service", fill({ port: 443 }));
const admissionRule: Rule = fill({ scope: "*" });
const webhook: Rule = chain(
  always("clientConfig", webhookClient),
  fill({
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  }),
  each("rules", admissionRule),
);

export const validatingWebhooks: Rule = each("webhooks", webhook);
export const mutatingWebhooks: Rule = each(
  "webhooks",
  webhook,
  fill({ reinvocationPolicy: "Never" }),
);

const matchResources: Rule = chain(
  fill({ matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} }),
  each("resourceRules", admissionRule),
  each("excludeResourceRules", admissionRule),
);

export const validatingPolicy: Rule = chain(
  always("spec", fill({ failurePolicy: "Fail" }), within("matchConstraints", matchResources)),
  always("status"),
);

export const mutatingPolicy: Rule = always(
  "spec",
  fill({ failurePolicy: "Fail" }),
  within("matchConstraints", matchResources),
);

export const policyBinding: Rule = always("spec", within("matchResources", matchResources));

export const flowSchema: Rule = chain(
  always("spec", fillZero({ matchingPrecedence: 1000 })),
  always("status"),
);

const queuing: Rule = fillZero({ queues: 64, handSize: 8, queueLengthLimit: 50 });
const limited: Rule = chain(
  fill({ nominalConcurrencyShares: 30, lendablePercent: 0 }),
  within("limitResponse", within("queuing", queuing)),
);

export const priorityLevel: Rule = chain(
  always(
    "spec",
    within("limited", limited),
    within("exempt", fill({ nominalConcurrencyShares: 0, lendablePercent: 0 })),
  ),
  always("status"),
);

/** Names derived from the kind. */
function crdNames(names: Fields): Fields {
  const kind = text(names, "kind");
  if (kind === "") return names;
  return fillZero({ singular: kind.toLowerCase(), listKind: `${kind}List` })(names);
}

function defaultStoredVersions(definition: Fields): Fields {
  const status = part(definition, "status");
  const given = status["storedVersions"];
  if (Array.isArray(given) && given.length > 0) return definition;
  const stored = items(part(definition, "spec"), "versions")
    .filter((version) => version["storage"] === true)
    .map((version) => text(version, "name"));
  if (stored.length === 0) return definition;
  return set(definition, "status", set(status, "storedVersions", stored));
}

export const customResourceDefinition: Rule = chain(
  always(
    "spec",
    always("names", crdNames),
    fill({ conversion: { strategy: "None" } }),
    within(
      "conversion",
      fillZero({ strategy: "None" }),
      within("webhook", within("clientConfig", webhookClient)),
    ),
  ),
  always("status"),
  defaultStoredVersions,
);

export const apiService: Rule = chain(
  always("spec", within("service", fill({ port: 443 }))),
  always("status"),
);

export const signingRequest: Rule = always("status");

export const tokenRequest: Rule = always("spec", fill({ expirationSeconds: 3600 }));

const deviceTolerations: Rule = each("tolerations", fillZero({ operator: "Equal" }));

function exactCount(request: Fields): Fields {
  const next = fillZero({ allocationMode: "ExactCount" })(request);
  return text(next, "allocationMode") === "ExactCount" ? fillZero({ count: 1 })(next) : next;
}

const claimSpec: Rule = within(
  "devices",
  each(
    "requests",
    within("exactly", exactCount, deviceTolerations),
    each("firstAvailable", exactCount, deviceTolerations),
  ),
);
const allocation: Rule = within("devices", each("results", deviceTolerations));

export const resourceClaim: Rule = chain(
  always("spec", claimSpec),
  always("status", within("allocation", allocation)),
);
export const resourceClaimTemplate: Rule = always(
  "spec",
  always("metadata"),
  always("spec", claimSpec),
);

function deviceCapacity(device: Fields): Fields {
  const capacity = device["capacity"];
  if (!isFields(capacity)) return device;
  const rules = Object.keys(capacity).map((name) => within(name, quantities("value")));
  return within("capacity", ...rules)(device);
}

export const resourceSlice: Rule = always("spec", each("devices", deviceCapacity));
