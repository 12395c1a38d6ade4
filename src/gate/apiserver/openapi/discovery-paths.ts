/** The paths of discovery and of `/version`, which are published together with those of resources. */
import { apiVersionOf, type GroupVersion } from "#api/object.ts";
import type { PathModel } from "./model.ts";
import { groupWord } from "./operations.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const discoveryTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/** Path of a group-version: `/api/v1/` or `/apis/apps/v1/`. */
export function groupVersionPath(gv: GroupVersion): PathModel {
  const version = gv.version.slice(0, 1).toUpperCase() + gv.version.slice(1);
  return discoveryPath(
    `${gv.group === "" ? "/api" : "/apis"}/${apiVersionOf(gv)}/`,
    `get${groupWord(gv.group, "Upper")}${version}APIResources`,
    "get available resources",
    `${groupWord(gv.group, "lower")}_${gv.version}`,
    "APIResourceList",
  );
}

/** Path of a group: `/apis/apps/`; that of the core group is `/api/`. */
export function groupPath(group: string): PathModel {
  if (group === "") {
    const words = "get available API versions";
    return discoveryPath("/api/", "getCoreAPIVersions", words, "core", "APIVersions");
  }
  return discoveryPath(
    `/apis/${group}/`,
    `get${groupWord(group, "Upper")}APIGroup`,
    "get information of a group",
    groupWord(group, "lower"),
    "APIGroup",
  );
}

export const groupsPath: PathModel = discoveryPath(
  "/apis/",
  "getAPIVersions",
  "get available API versions",
  "apis",
  "APIGroupList",
);

export const versionPath: PathModel = {
  path: "/version/",
  parameters: [],
  operations: [
    {
      method: "get",
      id: "getCodeVersion",
      description: "get the version information for this server",
      tag: "version",
      consumes: ["application/json"],
      produces: ["application/json"],
      parameters: [],
      responses: { "200": { definition: "io.k8s.apimachinery.pkg.version.Info" } },
    },
  ],
};

export const issuerPath: PathModel = textPath(
  "/.well-known/openid-configuration/",
  "getServiceAccountIssuerOpenIDConfiguration",
  "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
  "WellKnown",
  "application/json",
);

export const keysPath: PathModel = textPath(
  "/openid/v1/jwks/",
  "getServiceAccountIssuerOpenIDKeyset",
  "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
  "openid",
  "application/jwk-set+json",
);

function discoveryPath(
  path: string,
  id: string,
  description: string,
  tag: string,
  kind: string,
): PathModel {
  const responses = { "200": { definition: `${meta}.${kind}` } };
  const media = { consumes: discoveryTypes, produces: discoveryTypes };
  return getPath(path, { id, description, tag, ...media, responses });
}

function textPath(
  path: string,
  id: string,
  description: string,
  tag: string,
  produces: string,
): PathModel {
  const media = { consumes: [], produces: [produces] };
  return getPath(path, { id, description, tag, ...media, responses: { "200": "text" } });
}

function getPath(
  path: string,
  operation: Omit<PathModel["operations"][number], "method" | "parameters">,
): PathModel {
  return { path, parameters: [], operations: [{ method: "get", parameters: [], ...operation }] };
}
