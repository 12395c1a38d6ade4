/** Discovery documents of a small server, for controllers over every kind. */
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function resource(name: string, kind: string, namespaced: boolean) {
  return { name, kind, namespaced, verbs };
}

export const coreResources = [
  resource("pods", "Pod", true),
  resource("configmaps", "ConfigMap", true),
  resource("nodes", "Node", false),
  resource("namespaces", "Namespace", false),
  { ...resource("pods/log", "Pod", true), verbs: ["get"] },
  { ...resource("events", "Event", true) },
];

export const documents: Readonly<Record<string, unknown>> = {
  "/apis": {
    groups: [
      {
        name: "apps",
        preferredVersion: { version: "v1" },
        versions: [{ version: "v1" }, { version: "v1beta1" }],
      },
    ],
  },
  "/api/v1": { resources: coreResources },
  "/apis/apps/v1": { resources: [resource("replicasets", "ReplicaSet", true)] },
  "/apis/apps/v1beta1": {
    resources: [
      resource("replicasets", "ReplicaSet", true),
      resource("controllerrevisions", "ControllerRevision", true),
    ],
  },
};
