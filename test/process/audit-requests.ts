/** The requests of which the audit events of two servers are compared, and what of an event may differ. */
export interface AuditedRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object | string;
  readonly type?: string;
  /** Token; "" is nobody. Default: the administrator. */
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, data: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i" }] },
};

export const auditedRequests: readonly AuditedRequest[] = [
  { method: "POST", path: maps, body: map("a", { k: "v" }) },
  { method: "POST", path: maps, body: map("a") },
  { method: "POST", path: maps, body: map("Not_A_Name") },
  { method: "POST", path: maps, body: "{" },
  { method: "GET", path: `${maps}/a` },
  { method: "GET", path: `${maps}/none` },
  { method: "PUT", path: `${maps}/a`, body: map("a", { k: "w" }) },
  {
    method: "PATCH",
    path: `${maps}/a`,
    body: { data: { p: "q" } },
    type: "application/merge-patch+json",
  },
  {
    method: "PATCH",
    path: `${maps}/applied?fieldManager=m`,
    body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n",
    type: "application/apply-patch+yaml",
  },
  { method: "GET", path: `${maps}?limit=1` },
  { method: "GET", path: `${maps}?fieldSelector=metadata.name%3Da&labelSelector=x%20in%20(y)` },
  { method: "GET", path: `${maps}?watch=true&timeoutSeconds=1` },
  {
    method: "POST",
    path: "/api/v1/namespaces/default/secrets",
    body: { ...map("s"), kind: "Secret", data: { p: "dg==" } },
  },
  {
    method: "PATCH",
    path: "/api/v1/namespaces/default/secrets/s",
    body: { data: { p: "dw==" } },
    type: "application/merge-patch+json",
  },
  { method: "GET", path: "/api/v1/namespaces/default/secrets/s" },
  {
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts",
    body: { ...map("default"), kind: "ServiceAccount", data: undefined },
  },
  { method: "POST", path: "/api/v1/namespaces/default/pods", body: pod },
  { method: "GET", path: "/api/v1/namespaces/default/pods/p/exec?command=ls", as: "bob" },
  { method: "GET", path: "/api/v1/namespaces/default/pods/p/log", as: "bob" },
  { method: "GET", path: maps, as: "" },
  { method: "GET", path: "/healthz", as: "" },
  { method: "GET", path: "/version" },
  { method: "GET", path: "/api/v1" },
  { method: "GET", path: maps, as: "wrong" },
  { method: "GET", path: maps, as: "bob" },
  { method: "GET", path: maps, headers: { "impersonate-user": "bob" } },
  {
    method: "GET",
    path: maps,
    headers: {
      "impersonate-user": "carol",
      "impersonate-group": "system:masters",
      "impersonate-extra-why": "x",
    },
  },
  { method: "GET", path: maps, as: "bob", headers: { "impersonate-user": "kubernetes-admin" } },
  { method: "GET", path: `${maps}?timeout=x` },
  { method: "GET", path: "/apis/none.example/v1/things" },
  { method: "GET", path: "/nowhere" },
  {
    method: "GET",
    path: maps,
    headers: { "x-forwarded-for": "192.0.2.7, 192.0.2.8, x", "x-real-ip": "192.0.2.9" },
  },
  {
    method: "GET",
    path: maps,
    headers: { "audit-id": "from the client", "user-agent": "u".repeat(1_100) },
  },
  {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "pods" } },
    },
  },
  { method: "GET", path: "/api/v1/namespaces/default/endpoints/none" },
  { method: "PUT", path: "/api/v1/namespaces/default/pods/p/status", body: pod },
  { method: "DELETE", path: "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0" },
  { method: "DELETE", path: `${maps}/a`, body: { propagationPolicy: "Background" } },
  { method: "DELETE", path: `${maps}?labelSelector=none%3Dnone` },
  { method: "DELETE", path: "/api/v1/namespaces/default/secrets/s" },
];

export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  rules: [
    { level: "None", users: ["system:apiserver"] },
    { level: "None", userGroups: ["system:serviceaccounts"] },
    { level: "None", nonResourceURLs: ["/readyz*"] },
    { level: "Metadata", resources: [{ group: "", resources: ["secrets"] }] },
    { level: "Request", verbs: ["patch"], omitStages: ["RequestReceived"] },
    { level: "RequestResponse", omitManagedFields: true },
  ],
});

export const auditTokens = 'tok,kubernetes-admin,1,"system:masters"\nbob,bob,2,"devs"\n';

/**
 * By place in `auditedRequests`: a stock server loses the event of an apply, whose YAML it cannot put into JSON;
 * a group that is not served is 404 with a Status here, and with a text there.
 */
export const differs: ReadonlySet<number> = new Set([8, 29]);

/** Of a log: the events of each answered request, as they may be compared. */
export function comparable(
  log: string,
  answers: readonly { readonly auditId: string }[],
): readonly (readonly object[])[] {
  const events = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly auditID: string }); // an audit log's
  return answers.map(({ auditId }) =>
    events
      .filter(({ auditID }) => auditID === auditId)
      .map((event) => JSON.parse(JSON.stringify(event, blurred)) as object),
  );
}

const blurredKeys = new Set([
  "auditID",
  "requestReceivedTimestamp",
  "stageTimestamp",
  "uid",
  "resourceVersion",
  "continue",
  "creationTimestamp",
  "deletionTimestamp",
  "startTime",
]);

function blurred(key: string, value: unknown): unknown {
  if (typeof value === "string" && /^kube-api-access-\w{5}$/.test(value)) return "<volume>";
  return blurredKeys.has(key) && typeof value === "string" ? `<${key}>` : value;
}
