/** Lists, tables, metadata only, pages, resource versions, selectors and watches. */
import {
  collect,
  get,
  patch,
  post,
  remove,
  type Case,
  type Step,
  type Suite,
} from "../exchange.ts";

const maps = "/api/v1/namespaces/{ns}/configmaps";
const pods = "/api/v1/namespaces/{ns}/pods";
const map = (name: string, labels: object = {}, data: object = { k: "v" }): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data,
});
const pod = (name: string, spec: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: "c", image: "nginx" }], ...spec },
});
const three: readonly Step[] = [
  post(maps, map("a", { x: "1", y: "1" })),
  post(maps, map("b", { x: "2" })),
  post(maps, map("c", { z: "" })),
];
const as = (form: string, more = ""): { readonly headers: Readonly<Record<string, string>> } => ({
  headers: { accept: `application/json;as=${form};v=v1;g=meta.k8s.io${more}` },
});
const e = encodeURIComponent;

const forms: readonly Case[] = [
  {
    name: "forms",
    steps: [
      ...three,
      post(pods, pod("p", { nodeName: "n" })),
      get(maps, as("Table")),
      get(`${maps}/a`, as("Table")),
      get(`${maps}?includeObject=None`, as("Table")),
      get(`${maps}?includeObject=Object`, as("Table")),
      get(`${maps}?includeObject=Bad`, as("Table")),
      get(`${maps}?limit=1`, as("Table")),
      get(`${pods}`, as("Table")),
      get(`${pods}/p`, as("Table")),
      get(`${pods}/p`, {
        headers: { accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io" },
      }),
      get(`${pods}/p`, { headers: { accept: "application/json;as=Table;v=v2;g=meta.k8s.io" } }),
      get(maps, as("PartialObjectMetadataList")),
      get(maps, as("PartialObjectMetadata")),
      get(`${maps}/a`, as("PartialObjectMetadata")),
      get(`${maps}/a`, as("PartialObjectMetadataList")),
      get(`${maps}/missing`, as("Table")),
      get(`${maps}/missing`, as("PartialObjectMetadata")),
      get(`${maps}/a`, as("Nothing")),
      get(`${maps}/a`, as("Nothing", ",application/json")),
      get(`${maps}/a`, { headers: { accept: "text/html" } }),
      get(`${maps}/missing`, { headers: { accept: "text/html" } }),
      get(`${maps}/a`, { headers: { accept: "text/html,*/*;q=0.1" } }),
      get(`${maps}/a`, { headers: { accept: "application/*" } }),
      get(`${maps}/a`, { headers: { accept: "" } }),
      get(`${maps}/a`, { headers: { accept: "application/json;q=0.5,application/yaml;q=0.9" } }),
      get(maps, { headers: { accept: "application/yaml" } }),
      get(maps, { headers: { accept: "application/vnd.kubernetes.protobuf" } }),
      get(`${maps}/a`, { headers: { accept: "application/vnd.kubernetes.protobuf" } }),
      get(`${maps}/missing`, { headers: { accept: "application/vnd.kubernetes.protobuf" } }),
      get(`${maps}/missing`, { headers: { accept: "application/yaml" } }),
      get(`${maps}/a`, { headers: { accept: "application/cbor" } }),
      get(`${maps}/a?pretty=true`),
      get(`${maps}/a?pretty=1`),
      get(`${maps}/a?pretty=nope`),
      get(`${maps}/a`, { headers: { "user-agent": "curl/8" } }),
      get(`${maps}/a`, { headers: { "user-agent": "Mozilla/5.0" } }),
      get(`${maps}/missing`, { headers: { "user-agent": "Mozilla/5.0" } }),
      get(`${maps}/a`, { headers: { "accept-encoding": "gzip" } }),
      get(`${maps}/a`, as("Table", ",application/yaml")),
      get(`${maps}/a`, { headers: { accept: "application/yaml;as=Table;v=v1;g=meta.k8s.io" } }),
    ],
  },
];

const invalidRows = [
  "resourceVersionMatch=Exact",
  "resourceVersionMatch=NotOlderThan",
  "resourceVersionMatch=Bad&resourceVersion=1",
  "resourceVersionMatch=Exact&resourceVersion=0",
  "resourceVersionMatch=NotOlderThan&resourceVersion=0",
  "resourceVersionMatch=Exact&resourceVersion={rv}",
  "resourceVersionMatch=NotOlderThan&resourceVersion={rv}",
  "resourceVersion=0",
  "resourceVersion={rv}",
  "resourceVersion=abc",
  "resourceVersion=-1",
  "resourceVersion=1.5",
  "resourceVersion=99999999999999999999",
  "limit=1&resourceVersion=0",
  "limit=1&resourceVersion={rv}",
  "limit=1&resourceVersion=0&resourceVersionMatch=NotOlderThan",
  "limit=1&resourceVersion={rv}&resourceVersionMatch=NotOlderThan",
  "limit=1&resourceVersion={rv}&resourceVersionMatch=Exact",
  "limit=-1",
  "limit=abc",
  "limit=0",
  "continue=abc",
  "continue=e30",
  "continue={token}",
  "continue={token}&resourceVersion=0",
  "continue={token}&resourceVersion={rv}",
  "continue={token}&resourceVersionMatch=Exact",
  "continue={token}&limit=1",
  "limit=1&continue={token}&resourceVersion=5",
  "sendInitialEvents=true",
  "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
  "sendInitialEvents=abc",
  "timeoutSeconds=5",
  "timeoutSeconds=abc",
  "watch=abc",
  "allowWatchBookmarks=abc",
];

const versions: readonly Case[] = [
  {
    name: "resource versions of lists",
    steps: [
      ...three,
      get(`${maps}?limit=1`, {
        save: { rv: "metadata.resourceVersion", token: "metadata.continue" },
      }),
      post(maps, map("d")),
      ...invalidRows.map((query) => get(`${maps}?${query}`)),
    ],
  },
  {
    name: "resource versions of gets",
    steps: [
      ...three,
      get(`${maps}/a`, { save: { rv: "metadata.resourceVersion" } }),
      get(`${maps}/a?resourceVersion=0`),
      get(`${maps}/a?resourceVersion={rv}`),
      get(`${maps}/a?resourceVersion=abc`),
      get(`${maps}/missing?resourceVersion=0`),
      get(`${maps}/a?resourceVersion=99999999`),
      get(`${maps}?resourceVersion=99999999`),
      get(`${maps}?resourceVersion=99999999&resourceVersionMatch=Exact`),
    ],
  },
  {
    name: "pages",
    steps: [
      ...three,
      get(`${maps}?limit=1`, { save: { token: "metadata.continue" } }),
      get(`${maps}?limit=1&continue={token}`, { save: { token: "metadata.continue" } }),
      get(`${maps}?limit=1&continue={token}`),
      get(`${maps}?limit=2&labelSelector=x`),
      get(`${maps}?limit=1&labelSelector=x`),
      get(`${maps}?limit=100`),
      get(`/api/v1/configmaps?limit=1&fieldSelector=metadata.namespace%3D{ns}`),
    ],
  },
];

const labelSelectors = [
  "x=1",
  "x==1",
  "x!=1",
  "x in (1,2)",
  "x notin (1)",
  "x",
  "!x",
  "x,y",
  "x=1,y=2",
  "z=",
  "z",
  "x>0",
  "x<2",
  "x gt 1",
  "x in ()",
  "x in",
  "x=1=2",
  "a b",
  ",",
  "x=!",
  "-x",
  "x in (1",
  "(x)",
  `${"k".repeat(64)}=v`,
  "/x=1",
  "a/b/c=1",
  "x=a/b",
  "x=1,",
  "",
];
const fieldSelectors = [
  "metadata.name=a",
  "metadata.name!=a",
  "metadata.namespace={ns}",
  "metadata.namespace=other",
  "metadata.name==a",
  "metadata.name=a,metadata.name!=b",
  "data.k=v",
  "metadata.labels.x=1",
  "metadata.name",
  "=a",
  "metadata.name=a,",
  "metadata.name>a",
  "metadata.name=a\\,b",
  "metadata.name=a\\x",
];
const podFields = [
  "spec.nodeName=n",
  "spec.nodeName=",
  "status.phase=Pending",
  "status.phase!=Pending",
  "spec.restartPolicy=Always",
  "spec.schedulerName=default-scheduler",
  "spec.serviceAccountName=default",
  "spec.hostNetwork=false",
  "status.podIP=",
  "status.podIPs=",
  "status.nominatedNodeName=",
  "spec.nope=1",
];

const selectors: readonly Case[] = [
  {
    name: "label selectors",
    steps: [...three, ...labelSelectors.map((text) => get(`${maps}?labelSelector=${e(text)}`))],
  },
  {
    name: "field selectors",
    steps: [
      ...three,
      ...fieldSelectors.map((text) =>
        get(`${maps}?fieldSelector=${e(text).replaceAll("%7Bns%7D", "{ns}")}`),
      ),
      post(pods, pod("p", { nodeName: "n" })),
      post(pods, pod("q")),
      ...podFields.map((text) =>
        get(`${pods}?fieldSelector=${e(text)}`, as("PartialObjectMetadataList")),
      ),
      ...[
        "/api/v1/namespaces/{ns}/secrets?fieldSelector=type%3DOpaque",
        "/api/v1/namespaces/{ns}/events?fieldSelector=involvedObject.name%3Dx,reason%3Dy,type%3DNormal,source%3Dz,reportingComponent%3Dq",
        "/api/v1/namespaces/{ns}/events?fieldSelector=nope%3Dx",
        "/api/v1/namespaces/{ns}/services?fieldSelector=spec.clusterIP%3DNone,spec.type%3DClusterIP",
        "/api/v1/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3D{ns}",
        "/api/v1/namespaces?fieldSelector=nope%3DActive",
        "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue",
        "/apis/apps/v1/namespaces/{ns}/replicasets?fieldSelector=status.replicas%3D1",
        "/apis/apps/v1/namespaces/{ns}/deployments?fieldSelector=spec.replicas%3D1",
        "/apis/batch/v1/namespaces/{ns}/jobs?fieldSelector=status.successful%3D1",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName%3Dx.y%2Fz",
        "/apis/apps/v1/namespaces/{ns}/daemonsets?fieldSelector=x%3D1",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldSelector=rules%3D1",
        "/apis/storage.k8s.io/v1/storageclasses?fieldSelector=provisioner%3D1",
      ].map((path) => get(path)),
    ],
  },
];

const watchMaps = `${maps}?watch=1`;
const watches: readonly Case[] = [
  {
    name: "watch: live events",
    steps: [
      ...three,
      get(maps, { save: { rv: "metadata.resourceVersion" } }),
      get(`${watchMaps}&resourceVersion={rv}`, { open: "all" }),
      get(`${watchMaps}&resourceVersion={rv}&labelSelector=x`, { open: "some" }),
      get(`${watchMaps}&resourceVersion={rv}&fieldSelector=metadata.name%3Da`, { open: "one" }),
      get(`${watchMaps}&resourceVersion={rv}`, { open: "table", ...as("Table") }),
      get(`${watchMaps}&resourceVersion={rv}&includeObject=None`, {
        open: "table none",
        ...as("Table"),
      }),
      get(`${watchMaps}&resourceVersion={rv}`, { open: "meta", ...as("PartialObjectMetadata") }),
      get(`${watchMaps}&resourceVersion={rv}`, {
        open: "list",
        ...as("PartialObjectMetadataList"),
      }),
      get(`/api/v1/watch/namespaces/{ns}/configmaps?resourceVersion={rv}`, { open: "old" }),
      get(`/api/v1/watch/namespaces/{ns}/configmaps/a?resourceVersion={rv}`, { open: "old one" }),
      get(`${watchMaps}`, { open: "synthetic" }),
      get(`${watchMaps}&resourceVersion=0`, { open: "zero" }),
      get(
        `${watchMaps}&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
        { open: "initial" },
      ),
      get(
        `${watchMaps}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
        { open: "initial table", ...as("Table") },
      ),
      get(
        `${watchMaps}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
        { open: "initial meta", ...as("PartialObjectMetadata") },
      ),
      get(
        `${watchMaps}&resourceVersion={rv}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
        { open: "not initial" },
      ),
      patch("merge", `${maps}/b`, { metadata: { labels: { x: null } } }),
      patch("merge", `${maps}/c`, { metadata: { labels: { x: "now" } } }),
      patch("merge", `${maps}/a`, { data: { k: "w" } }),
      remove(`${maps}/a`),
      ...["all", "some", "one", "table", "table none", "meta", "list", "old", "old one"].map(
        (name) =>
          collect(
            name,
            name.includes("one") && name !== "table none" ? 2 : name === "some" ? 4 : 4,
          ),
      ),
      collect("synthetic", 7),
      collect("zero", 7),
      collect("initial", 8),
      collect("initial table", 8),
      collect("initial meta", 8),
      collect("not initial", 4),
    ],
  },
  {
    name: "watch: refusals and ends",
    steps: [
      ...three,
      get(`${watchMaps}&resourceVersion=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`),
      get(`${watchMaps}&resourceVersion=abc`),
      get(`${watchMaps}&resourceVersion=99999999&timeoutSeconds=1`),
      get(`${watchMaps}&timeoutSeconds=1&resourceVersionMatch=Exact`),
      get(`${watchMaps}&timeoutSeconds=1&resourceVersionMatch=NotOlderThan`),
      get(`${watchMaps}&timeoutSeconds=1&sendInitialEvents=true`),
      get(`${watchMaps}&sendInitialEvents=true&resourceVersionMatch=Exact`),
      get(`${watchMaps}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`),
      get(
        `${watchMaps}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999&timeoutSeconds=1`,
      ),
      get(`${watchMaps}&labelSelector=a%20b`),
      get(`${watchMaps}&fieldSelector=nope%3Da`),
      get(`${watchMaps}&limit=1&timeoutSeconds=1`),
      get(`${watchMaps}&continue=abc&timeoutSeconds=1`),
      get(`${watchMaps}&timeoutSeconds=1`),
      get(`${watchMaps}&timeoutSeconds=1&allowWatchBookmarks=true`),
      get(`${watchMaps}&timeoutSeconds=-1`),
      get(`${watchMaps}&timeoutSeconds=1`, { headers: { accept: "text/plain" } }),
      get(`${watchMaps}&timeoutSeconds=1`, { headers: { accept: "application/yaml" } }),
      get(`${watchMaps}&timeoutSeconds=1`, {
        headers: { accept: "application/vnd.kubernetes.protobuf" },
      }),
      get(`${watchMaps}&timeoutSeconds=1`, {
        headers: { accept: "application/vnd.kubernetes.protobuf;stream=watch" },
      }),
      get(`${watchMaps}&timeoutSeconds=1`, {
        headers: { accept: "application/json;stream=watch" },
      }),
      get(`${maps}/a?watch=1&timeoutSeconds=1`),
      get(`${maps}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Db`),
      get(`${maps}?watch=0`),
      get(`${maps}?watch=true&pretty=true&timeoutSeconds=1`),
      get(`/api/v1/watch/namespaces/{ns}/configmaps/nope?timeoutSeconds=1`),
      get(`/api/v1/watch/namespaces/{ns}/nothings?timeoutSeconds=1`),
      get(`/api/v1/namespaces/{ns}/nothings?watch=1`),
      get(`/api/v1/componentstatuses?watch=1&timeoutSeconds=1`),
    ],
  },
];

export const reads: Suite = {
  name: "reads",
  cases: [...forms, ...versions, ...selectors, ...watches],
};
