/** Paths and methods as upstream reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestInfo } from "./request-info.ts";

function read(method: string, target: string): string {
  const [path = "", query = ""] = target.split("?");
  const info = requestInfo(method, path, new URLSearchParams(query));
  if (!info.isResourceRequest) return `${info.verb} ${info.path}`;
  const { verb, group, version, namespace, resource, subresource, name } = info;
  return [verb, group, version, namespace, resource, subresource, name].join("|");
}

const rows: readonly (readonly [string, string, string])[] = [
  ["GET", "/healthz", "get /healthz"],
  ["GET", "/api/v1", "get /api/v1"],
  ["GET", "/apis/apps/v1", "get /apis/apps/v1"],
  ["GET", "/api/v1/nodes", "list||v1||nodes||"],
  ["GET", "/api/v1/nodes/n/status", "get||v1||nodes|status|n"],
  ["HEAD", "/api/v1/nodes/n", "get||v1||nodes||n"],
  ["GET", "/api/v1/namespaces", "list||v1||namespaces||"],
  ["GET", "/api/v1/namespaces/x", "get||v1|x|namespaces||x"],
  ["PUT", "/api/v1/namespaces/x/finalize", "update||v1|x|namespaces|finalize|x"],
  ["GET", "/api/v1/namespaces/x/pods?watch=true", "watch||v1|x|pods||"],
  ["GET", "/api/v1/namespaces/x/pods?watch=0", "list||v1|x|pods||"],
  ["GET", "/api/v1/watch/namespaces/x/pods/p", "watch||v1|x|pods||p"],
  ["POST", "/api/v1/namespaces/x/pods/p/binding", "create||v1|x|pods|binding|p"],
  ["GET", "/api/v1/proxy/namespaces/x/pods/p/a/b", "proxy||v1|x|pods||p"],
  ["DELETE", "/apis/apps/v1/namespaces/x/deployments", "deletecollection|apps|v1|x|deployments||"],
  ["PATCH", "/apis/apps/v1/namespaces/x/deployments/d", "patch|apps|v1|x|deployments||d"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name%3Ds", "list||v1||secrets||s"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name!%3Ds", "list||v1||secrets||"],
];

for (const [method, target, expected] of rows) {
  test(`${method} ${target} reads as ${expected}`, () => {
    assert.equal(read(method, target), expected);
  });
}
