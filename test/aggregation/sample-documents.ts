/** Discovery and OpenAPI of the sample API server. */
import { apiVersion } from "./flunders.ts";

export const group = "wardle.example.com";
export const version = "v1alpha1";
export const aggregatedType =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

export const resourceList = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: apiVersion,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs,
      shortNames: ["fl"],
    },
    { name: "flunders/echo", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
  ],
};

const groupVersion = { groupVersion: apiVersion, version };
export const groupDocument = {
  kind: "APIGroup",
  apiVersion: "v1",
  name: group,
  versions: [groupVersion],
  preferredVersion: groupVersion,
};

const responseKind = { group, version, kind: "Flunder" };
export const aggregatedDocument = {
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  metadata: {},
  items: [
    {
      metadata: { name: group },
      versions: [
        {
          version,
          freshness: "Current",
          resources: [
            {
              resource: "flunders",
              responseKind,
              scope: "Namespaced",
              singularResource: "flunder",
              verbs,
              shortNames: ["fl"],
              subresources: [{ subresource: "echo", responseKind, verbs: ["get"] }],
            },
          ],
        },
      ],
    },
  ],
};

const definition = "com.example.wardle.v1alpha1.Flunder";
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const properties = (prefix: string) => ({
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { $ref: `${prefix}${objectMeta}` },
  spec: {
    type: "object",
    properties: { reference: { type: "string", description: "The name of another Flunder." } },
  },
});
const gvk = [{ group, kind: "Flunder", version }];
const path = `/apis/${apiVersion}/namespaces/{namespace}/flunders/{name}`;
const tags = { "x-kubernetes-group-version-kind": gvk };

export const openapiV2 = {
  swagger: "2.0",
  info: { title: "wardle", version: "0.1" },
  paths: {
    [path]: {
      get: {
        description: "read the specified Flunder",
        operationId: "readWardleFlunder",
        produces: ["application/json"],
        responses: {
          "200": { description: "OK", schema: { $ref: `#/definitions/${definition}` } },
        },
        "x-kubernetes-action": "get",
        "x-kubernetes-group-version-kind": gvk[0],
      },
    },
    // Not of this group-version: never taken over.
    "/apis/apps/v1/namespaces/{namespace}/deployments/{name}": {
      get: { description: "taken over" },
    },
  },
  definitions: {
    [definition]: {
      description: "Flunder of the sample.",
      type: "object",
      properties: properties("#/definitions/"),
      ...tags,
    },
    // Not this server's own: gets another name.
    [objectMeta]: { description: "ObjectMeta of the sample.", type: "object" },
  },
};

export const openapiV3Index = {
  paths: {
    [`apis/${apiVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${apiVersion}?hash=AB12` },
  },
};

export const openapiV3 = {
  openapi: "3.0.0",
  info: { title: "wardle", version: "0.1" },
  paths: {
    [path]: {
      get: {
        responses: {
          "200": {
            description: "OK",
            content: {
              "application/json": { schema: { $ref: `#/components/schemas/${definition}` } },
            },
          },
        },
        "x-kubernetes-action": "get",
        "x-kubernetes-group-version-kind": gvk[0],
      },
    },
  },
  components: {
    schemas: {
      [definition]: {
        description: "Flunder of the sample.",
        type: "object",
        properties: properties("#/components/schemas/"),
        ...tags,
      },
      [objectMeta]: { description: "ObjectMeta of the sample.", type: "object" },
    },
  },
};
