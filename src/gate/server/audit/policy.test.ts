/** Policies of audit.k8s.io/v1: what a document says, what upstream refuses of one, and which rule is a request's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestInfo } from "../request-info.ts";
import { PolicyEvaluator } from "./policy.ts";
import { readPolicy } from "./policy-document.ts";

const head = { apiVersion: "audit.k8s.io/v1", kind: "Policy" };

function refusalOf(document: unknown): string {
  const read = readPolicy(document);
  return read.kind === "refused" ? read.why : "taken";
}

function levelOf(rules: readonly object[], method: string, target: string, user = "alice"): string {
  const read = readPolicy({ ...head, rules });
  assert.equal(read.kind, "policy", JSON.stringify(read));
  const [path = "", query = ""] = target.split("?");
  const info = requestInfo(method, path, new URLSearchParams(query));
  const by = user === "" ? undefined : { name: user, groups: ["devs"] };
  return new PolicyEvaluator(read.policy).configOf(by, info).level;
}

const every = { level: "Metadata" };
const pods = "/api/v1/namespaces/a/pods";
/** Rule, method, target, level; the second rule keeps everything at Metadata. */
const rules: readonly (readonly [object, string, string, string])[] = [
  [{ users: ["alice"] }, "GET", pods, "None"],
  [{ users: ["bob"] }, "GET", pods, "Metadata"],
  [{ userGroups: ["devs"] }, "GET", pods, "None"],
  [{ verbs: ["list"] }, "GET", pods, "None"],
  [{ verbs: ["watch"] }, "GET", `${pods}?watch=1`, "None"],
  [{ namespaces: ["a"] }, "GET", pods, "None"],
  [{ namespaces: [""] }, "GET", "/api/v1/nodes/n", "None"],
  [{ namespaces: ["a"] }, "GET", "/healthz", "Metadata"],
  [{ nonResourceURLs: ["/health*"] }, "GET", "/healthz", "None"],
  [{ nonResourceURLs: ["/healthz"] }, "GET", "/healthz/ping", "Metadata"],
  [{ nonResourceURLs: ["*"] }, "GET", pods, "Metadata"],
  [{ resources: [{ group: "" }] }, "GET", pods, "None"],
  [{ resources: [{ group: "apps" }] }, "GET", pods, "Metadata"],
  [{ resources: [{ group: "*", resources: ["pods"] }] }, "GET", `${pods}/p`, "None"],
  [{ resources: [{ group: "", resources: ["pods"] }] }, "GET", `${pods}/p/log`, "Metadata"],
  [{ resources: [{ group: "", resources: ["pods/log"] }] }, "GET", `${pods}/p/log`, "None"],
  [{ resources: [{ group: "", resources: ["pods/*"] }] }, "GET", `${pods}/p/log`, "None"],
  [{ resources: [{ group: "", resources: ["*/log"] }] }, "GET", `${pods}/p/log`, "None"],
  [{ resources: [{ group: "", resources: ["*"] }] }, "GET", `${pods}/p/log`, "None"],
  [
    { resources: [{ group: "", resources: ["pods"], resourceNames: ["q"] }] },
    "GET",
    `${pods}/p`,
    "Metadata",
  ],
];
for (const [rule, method, target, level] of rules) {
  test(`${JSON.stringify(rule)} makes ${method} ${target} ${level}`, () => {
    assert.equal(levelOf([{ level: "None", ...rule }, every], method, target), level);
  });
}

test("without a rule that matches nothing is kept, and a caller without a name is nobody's user", () => {
  assert.equal(levelOf([{ level: "Request", users: ["bob"] }], "GET", pods), "None");
  assert.equal(levelOf([{ level: "Request", userGroups: ["devs"] }], "GET", pods, ""), "None");
});

test("stages and managed fields of a rule come beside those of the policy", () => {
  const rule = { level: "Request", omitStages: ["Panic"], omitManagedFields: false };
  const policy = { ...head, omitStages: ["RequestReceived"], omitManagedFields: true };
  const read = readPolicy({ ...policy, rules: [rule] });
  assert.equal(read.kind, "policy");
  const info = requestInfo("GET", pods, new URLSearchParams());
  const config = new PolicyEvaluator(read.policy).configOf(undefined, info);
  assert.deepEqual([...config.omitStages], ["RequestReceived", "Panic"]);
  assert.equal(config.omitManagedFields, false);
});

/** As a stock server says it. */
const refusals: readonly (readonly [object, string])[] = [
  [{ rules: [] }, "loaded illegal policy with 0 rules"],
  [{ rules: [{}] }, "rules[0].level: Required value"],
  [
    { rules: [{ level: "All" }] },
    'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
  ],
  [
    { rules: [{ level: "None", nonResourceURLs: ["x", "/a*b"] }] },
    `[rules[0].nonResourceURLs[0]: Invalid value: "x": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[1]: Invalid value: "/a*b": non-resource URL wildcards '*' must be the final character of the rule]`,
  ],
  [
    { rules: [{ level: "None", nonResourceURLs: ["/x"], namespaces: ["a"] }] },
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    { rules: [{ level: "None", resources: [{ group: "", resourceNames: ["a"] }] }] },
    'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
  ],
  [
    { rules: [{ level: "None" }], omitStages: ["Begin"] },
    'omitStages[0]: Invalid value: "Begin": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ],
  [{ rules: "all" }, "failed decoding: rules must be a list, not string"],
];
for (const [fields, why] of refusals) {
  test(`${JSON.stringify(fields)} is refused`, () => {
    assert.equal(refusalOf({ ...head, ...fields }), why);
  });
}

test("another version is refused, an unknown field is left out and told", () => {
  const older = { apiVersion: "audit.k8s.io/v1beta1", kind: "Policy", rules: [every] };
  assert.match(
    refusalOf(older),
    /unknown group version field audit\.k8s\.io\/v1beta1, Kind=Policy/,
  );
  const read = readPolicy({ ...head, rules: [{ ...every, level2: "x" }] });
  assert.deepEqual(read.kind === "policy" && read.unknown, ["rules[0].level2"]);
});
