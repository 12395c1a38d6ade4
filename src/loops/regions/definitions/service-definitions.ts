/**
 * What a region needs for global services: ServiceExport and ServiceImport of SIG Multicluster (mcs-api 0.5), in both versions.
 * Those of another implementation, which are there already, are left as they are.
 */
import type { AnyObject } from "#api/object.ts";
import { conditions, definition, short } from "./definition.ts";

const group = "multicluster.x-k8s.io";
const versions = ["v1alpha1", "v1beta1"];
const age = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const texts = { type: "object", additionalProperties: { type: "string" } };

const serviceExports = definition({
  group,
  versions,
  kind: "ServiceExport",
  plural: "serviceexports",
  shortNames: ["svcex", "svcexport"],
  columns: [age],
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { exportedLabels: texts, exportedAnnotations: texts },
      },
      status: { type: "object", properties: { conditions } },
    },
  },
});

const port = {
  type: "object",
  required: ["port"],
  properties: {
    name: short,
    protocol: short,
    appProtocol: short,
    port: { type: "integer", format: "int32" },
  },
};

const clientIp = {
  type: "object",
  properties: { timeoutSeconds: { type: "integer", format: "int32" } },
};

const serviceImports = definition({
  group,
  versions,
  kind: "ServiceImport",
  plural: "serviceimports",
  shortNames: ["svcim", "svcimport"],
  columns: [
    { name: "Type", type: "string", jsonPath: ".spec.type" },
    { name: "IP", type: "string", jsonPath: ".spec.ips" },
    age,
  ],
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["ports", "type"],
        properties: {
          type: { type: "string", enum: ["ClusterSetIP", "Headless"] },
          ports: { type: "array", items: port, "x-kubernetes-list-type": "atomic" },
          ips: { type: "array", maxItems: 2, items: short },
          ipFamilies: { type: "array", maxItems: 2, items: short },
          sessionAffinity: short,
          sessionAffinityConfig: { type: "object", properties: { clientIP: clientIp } },
          internalTrafficPolicy: short,
          trafficDistribution: short,
        },
      },
      status: {
        type: "object",
        properties: {
          conditions,
          clusters: {
            type: "array",
            items: { type: "object", required: ["cluster"], properties: { cluster: short } },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["cluster"],
          },
        },
      },
    },
  },
});

export const serviceDefinitions: readonly AnyObject[] = [serviceExports, serviceImports];
