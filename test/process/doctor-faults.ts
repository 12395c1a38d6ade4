/**
 * Faults that are made for real, on our control plane or a stock one: for each rule of the doctor one that makes
 * it fire, and a neighbour that looks alike and must not.
 */
import type { AnyObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import type { WebhookServer } from "#extension/testing/webhook-server.ts";

export interface LiveWorld {
  /** Gone again when the group is over. */
  readonly create: (ref: ResourceRef, namespace: string, object: AnyObject) => Promise<void>;
  /** Answers what its test says; its certificate is in `caBundle`. */
  readonly hooks: WebhookServer;
  /** A bare client of the same user, or of one that it impersonates. @returns the answer's status. */
  readonly ask: (method: string, path: string, body?: unknown, as?: string) => Promise<number>;
  /** Opens a watch, and keeps it open. Resolves when it is answered. */
  readonly watch: (path: string) => Promise<void>;
  /** The same, and reads nothing of it. */
  readonly watchUnread: (path: string) => Promise<void>;
}

export interface Made {
  /** What goes on while the doctor looks; called again and again. */
  readonly load?: () => Promise<unknown>;
  /** Called when the doctor has looked. */
  readonly end?: () => unknown;
}

export interface LiveFault {
  readonly rule: string;
  /** What the finding's culprit must look like. */
  readonly culprit: RegExp;
  readonly fault: (world: LiveWorld) => Promise<Made>;
  readonly neighbour: (world: LiveWorld) => Promise<Made>;
  /** Further rules that rightly fire: of what makes the fault. */
  readonly also?: readonly string[];
}

export const refOf = (group: string, resource: string, version = "v1"): ResourceRef => ({
  group,
  version,
  resource,
});

const admission = "admissionregistration.k8s.io";
const leases = refOf("coordination.k8s.io", "leases");
const nothingMore: Made = {};
const longAgo = "2026-01-01T00:00:00.000000Z";
const now = (): string => new Date().toISOString().replace("Z", "000Z");

export const times = <T>(count: number, f: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => f(at));

/** Validates one kind, by its plural; nothing else of the plane meets it. */
function webhookFor(name: string, resource: string, clientConfig: object): AnyObject {
  return {
    apiVersion: `${admission}/v1`,
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Fail",
        timeoutSeconds: 10,
        clientConfig,
        rules: [
          { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: [resource] },
        ],
      },
    ],
  };
}

async function register(world: LiveWorld, webhook: AnyObject): Promise<void> {
  await world.create(refOf(admission, "validatingwebhookconfigurations"), "", webhook);
}

const dead = { url: "https://127.0.0.1:9/" };

function createOne({ ask }: LiveWorld, resource: string, more: object = {}): Promise<number> {
  const body = { metadata: { generateName: "live-" }, ...more };
  return ask("POST", `/api/v1/namespaces/default/${resource}`, body);
}

const webhook: LiveFault = {
  rule: "webhook",
  culprit: /^webhook dead-one\.example\.com$/,
  fault: async (world) => {
    await register(world, webhookFor("dead-one", "limitranges", dead));
    return { load: () => createOne(world, "limitranges") };
  },
  neighbour: async (world) => {
    const clientConfig = { url: world.hooks.url("/allow"), caBundle: world.hooks.caBundle };
    await register(world, webhookFor("well", "resourcequotas", clientConfig));
    return { load: () => createOne(world, "resourcequotas") };
  },
};

async function registerSlow(world: LiveWorld): Promise<void> {
  const clientConfig = { url: world.hooks.url("/slow"), caBundle: world.hooks.caBundle };
  await register(world, webhookFor("slow", "podtemplates", clientConfig));
}

function createTemplate({ ask }: LiveWorld, as?: string): Promise<number> {
  const template = { metadata: {}, spec: { containers: [{ name: "a", image: "a" }] } };
  const body = { metadata: { generateName: "live-" }, template };
  return ask("POST", "/api/v1/namespaces/default/podtemplates", body, as);
}

const slowRequests: LiveFault = {
  rule: "slow-requests",
  culprit: /^POST of podtemplates$/,
  fault: async (world) => {
    const clientConfig = { url: world.hooks.url("/slow"), caBundle: world.hooks.caBundle };
    await register(world, webhookFor("slow", "podtemplates", clientConfig));
    const template = { metadata: {}, spec: { containers: [{ name: "a", image: "a" }] } };
    return {
      load: () => Promise.all(times(4, () => createOne(world, "podtemplates", { template }))),
    };
  },
  // The load of the healthy webhook is its neighbour.
  neighbour: () => Promise.resolve(nothingMore),
};

const aggregatedApi: LiveFault = {
  rule: "aggregated-api-away",
  culprit: /^APIService v1\.away\.example\.com, service default\/away$/,
  fault: async ({ create }) => {
    await create(refOf("apiregistration.k8s.io", "apiservices"), "", {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.away.example.com" },
      spec: {
        group: "away.example.com",
        version: "v1",
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { name: "away", namespace: "default" },
      },
    });
    return nothingMore;
  },
  // The local APIServices of every plane.
  neighbour: () => Promise.resolve(nothingMore),
};

function leaseOf(name: string, namespace: string, holder: string, renewTime: string): AnyObject {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
    spec: { holderIdentity: holder, leaseDurationSeconds: 40, renewTime },
  };
}

const leaderStuck: LiveFault = {
  rule: "leader-stuck",
  culprit: /^shop-controller, held by shop-0$/,
  fault: async ({ create }) => {
    const lease = leaseOf("shop-controller", "kube-system", "shop-0", longAgo);
    await create(leases, "kube-system", lease);
    return nothingMore;
  },
  neighbour: async ({ create }) => {
    const renewed = leaseOf("well-controller", "kube-system", "well-0", now());
    await create(leases, "kube-system", renewed);
    // Given back in order: nobody holds it, and nobody has to.
    const free = leaseOf("ended-controller", "kube-system", "", longAgo);
    await create(leases, "kube-system", free);
    return nothingMore;
  },
};

const silentNodes: LiveFault = {
  rule: "silent-nodes",
  culprit: /^node live-gone-\d/,
  fault: async ({ create }) => {
    for (const at of [0, 1]) {
      const name = `live-gone-${at}`;
      await create(leases, "kube-node-lease", leaseOf(name, "kube-node-lease", name, longAgo));
    }
    return nothingMore;
  },
  neighbour: async ({ create }) => {
    for (const at of [0, 1, 2]) {
      const name = `live-well-${at}`;
      await create(leases, "kube-node-lease", leaseOf(name, "kube-node-lease", name, now()));
    }
    return nothingMore;
  },
};

const podOf = (more: object): object => ({
  spec: { containers: [{ name: "a", image: "a" }], ...more },
});

/** Of the silent nodes above: their pods go, and come again. */
const podHerd: LiveFault = {
  rule: "pod-herd",
  // On a busy machine the herd is felt by the other requests.
  also: ["slow-requests"],
  culprit: /^node live-gone-\d/,
  fault: (world) => Promise.resolve({ load: () => replacePods(world, 60) }),
  neighbour: (world) => Promise.resolve({ load: () => replacePods(world, 60) }),
};

let replaced = 0;
async function replacePods(world: LiveWorld, count: number): Promise<void> {
  const pods = "/api/v1/namespaces/default/pods";
  const names = times(count, () => `herd-${replaced++}`);
  // A gate keeps them from the scheduler.
  const gated = podOf({ schedulingGates: [{ name: "live.example.com/herd" }] });
  await Promise.all(names.map((name) => world.ask("POST", pods, { metadata: { name }, ...gated })));
  await Promise.all(
    names.map((name) => world.ask("DELETE", `${pods}/${name}?gracePeriodSeconds=0`)),
  );
}

const listStorm: LiveFault = {
  rule: "list-storm",
  culprit: /persistentvolumeclaims|live-load/,
  fault: ({ ask }) =>
    Promise.resolve({
      load: () =>
        Promise.all(
          times(60, () => ask("GET", "/api/v1/namespaces/default/persistentvolumeclaims?limit=5")),
        ),
    }),
  neighbour: ({ ask }) =>
    Promise.resolve({
      // As many requests for one object each.
      load: () =>
        Promise.all(
          times(60, () => ask("GET", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt")),
        ),
    }),
};

const greedyCaller: LiveFault = {
  rule: "greedy-caller",
  culprit: /^live-load\/1\.0/,
  fault: ({ ask }) =>
    Promise.resolve({
      load: () =>
        Promise.all(
          times(30, () => ask("GET", "/api/v1/namespaces/default/replicationcontrollers")),
        ),
    }),
  neighbour: ({ ask }) =>
    Promise.resolve({
      load: () =>
        Promise.all(
          times(2, () =>
            ask("GET", "/api/v1/namespaces/default/replicationcontrollers?resourceVersion=0"),
          ),
        ),
    }),
};

const bigText = "x".repeat(500_000);

const largeLists: LiveFault = {
  rule: "large-lists",
  culprit: /configmaps|live-load/,
  fault: async (world) => {
    await Promise.all(times(14, () => createOne(world, "configmaps", { data: { text: bigText } })));
    return {
      load: () => world.ask("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=0"),
    };
  },
  neighbour: async (world) => {
    await Promise.all(
      times(14, () => createOne(world, "secrets", { stringData: { text: bigText } })),
    );
    return { load: () => world.ask("GET", "/api/v1/namespaces/default/secrets?limit=5") };
  },
};

const watchFanOut: LiveFault = {
  rule: "watch-fan-out",
  culprit: /serviceaccounts|live-load/,
  fault: async ({ watch }) => {
    const path = "/api/v1/namespaces/default/serviceaccounts?watch=true&resourceVersion=0";
    await Promise.all(times(520, () => watch(path)));
    return nothingMore;
  },
  neighbour: async ({ watch }) => {
    const one = "fieldSelector=metadata.name%3Dkube-root-ca.crt";
    const path = `/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0&${one}`;
    await Promise.all(times(520, () => watch(path)));
    return nothingMore;
  },
};

const endpointsOf = (name: string, addresses: number, turn: number): object => ({
  metadata: { name, annotations: { turn: String(turn) } },
  subsets: [
    {
      addresses: times(addresses, (at) => ({
        ip: `10.1.${at >> 8}.${at & 255}`,
        targetRef: { kind: "Pod", namespace: "default", name: `web-5d4f8c7b9-${at}` },
      })),
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    },
  ],
});

let turns = 0;
function changeEndpoints({ ask }: LiveWorld, name: string, addresses: number): Promise<unknown> {
  const path = `/api/v1/namespaces/default/endpoints/${name}`;
  return Promise.all(times(12, () => ask("PUT", path, endpointsOf(name, addresses, turns++))));
}

const largeEndpoints: LiveFault = {
  rule: "large-endpoints",
  culprit: /endpoints|live-load/,
  fault: async (world) => {
    await world.ask("POST", "/api/v1/namespaces/default/endpoints", endpointsOf("large", 900, 0));
    const path = "/api/v1/namespaces/default/endpoints?watch=true&resourceVersion=0";
    await Promise.all(times(4, () => world.watch(path)));
    return { load: () => changeEndpoints(world, "large", 900) };
  },
  neighbour: async (world) => {
    await world.ask("POST", "/api/v1/namespaces/default/endpoints", endpointsOf("small", 3, 0));
    const path = "/api/v1/namespaces/default/endpoints?watch=true&resourceVersion=0";
    await Promise.all(times(4, () => world.watch(path)));
    return { load: () => changeEndpoints(world, "small", 3) };
  },
};

const level = "live-narrow";
/** Administrators are exempt. */
const caller = "live-caller";

function levelOf(shares: number): AnyObject {
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "PriorityLevelConfiguration",
    metadata: { name: level },
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: shares,
        lendablePercent: 0,
        borrowingLimitPercent: 0,
        limitResponse: { type: "Reject" },
      },
    },
  };
}

/** Requests for one kind come under a level of one seat. */
function schemaOf(): AnyObject {
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name: level },
    spec: {
      matchingPrecedence: 2,
      priorityLevelConfiguration: { name: level },
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: caller } }],
          resourceRules: [
            {
              verbs: ["create"],
              apiGroups: [""],
              resources: ["podtemplates"],
              namespaces: ["*"],
            },
          ],
        },
      ],
    },
  };
}

async function narrow(world: LiveWorld, shares: number): Promise<void> {
  const group = "flowcontrol.apiserver.k8s.io";
  await world.create(refOf(group, "prioritylevelconfigurations"), "", levelOf(shares));
  await world.create(refOf(group, "flowschemas"), "", schemaOf());
  const rbac = "rbac.authorization.k8s.io";
  await world.create(refOf(rbac, "clusterrolebindings"), "", {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: level },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: rbac, kind: "User", name: caller }],
  });
}

/** Each of them waits for the slow webhook, and holds a seat meanwhile. */
const flowControl: LiveFault = {
  rule: "flow-control",
  also: ["webhook", "slow-requests"],
  culprit: /live-narrow|live-caller/,
  fault: async (world) => {
    await narrow(world, 1);
    await registerSlow(world);
    const create = () => createTemplate(world, caller);
    return { load: () => Promise.all(times(30, create)) };
  },
  neighbour: (world) => Promise.resolve({ load: () => createTemplate(world) }),
};

function definitionOf(kind: string, strategy: object): AnyObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  const versions = ["v1", "v2"].map((name) => ({
    name,
    served: true,
    storage: name === "v1",
    schema,
  }));
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.live.example.com` },
    spec: {
      group: "live.example.com",
      scope: "Namespaced",
      names: { plural, kind },
      versions,
      conversion: strategy,
    },
  };
}

async function define(world: LiveWorld, kind: string, strategy: object): Promise<Made> {
  const plural = `${kind.toLowerCase()}s`;
  const definition = definitionOf(kind, strategy);
  await world.create(refOf("apiextensions.k8s.io", "customresourcedefinitions"), "", definition);
  const path = (version: string) =>
    `/apis/live.example.com/${version}/namespaces/default/${plural}`;
  const object = { apiVersion: "live.example.com/v1", kind, metadata: { name: "one" } };
  while ((await world.ask("POST", path("v1"), object)) >= 400) await world.ask("GET", "/version");
  return { load: () => world.ask("GET", `${path("v2")}/one`) };
}

const conversion: LiveFault = {
  rule: "conversion-webhook",
  culprit: /^conversion webhook of widgets\.live\.example\.com$/,
  fault: (world) => {
    const webhook = { clientConfig: dead, conversionReviewVersions: ["v1"] };
    return define(world, "Widget", { strategy: "Webhook", webhook });
  },
  neighbour: (world) => define(world, "Gadget", { strategy: "None" }),
};

/** The same fault: what is not converted ends in a server's error. */
const requestErrors: LiveFault = {
  rule: "request-errors",
  culprit: /^GET of widgets\.live\.example\.com$/,
  fault: () => Promise.resolve(nothingMore),
  neighbour: ({ ask }) =>
    // A client's mistakes are no server's errors.
    Promise.resolve({ load: () => ask("GET", "/api/v1/namespaces/default/podtemplates/absent") }),
};

const schedulerQueue: LiveFault = {
  rule: "scheduler-queue",
  culprit: /^scheduler plugin /,
  fault: (world) =>
    Promise.resolve({
      load: () =>
        Promise.all(
          times(100, () => createOne(world, "pods", podOf({ nodeSelector: { live: "no" } }))),
        ),
    }),
  neighbour: (world) =>
    Promise.resolve({
      load: () => Promise.all(times(3, () => createOne(world, "pods", podOf({})))),
    }),
};

const stuckLoop: LiveFault = {
  rule: "stuck-loop",
  also: ["webhook"],
  culprit: /^loop replica-?set/,
  fault: async (world) => {
    await register(world, webhookFor("no-pods", "pods", dead));
    return { load: () => Promise.all(times(8, (at) => createSet(world, at))) };
  },
  neighbour: (world) => Promise.resolve({ load: () => createSet(world, 0) }),
};

function createSet({ ask }: LiveWorld, at: number): Promise<number> {
  const labels = { live: `set-${at}` };
  return ask("POST", "/apis/apps/v1/namespaces/default/replicasets", {
    metadata: { generateName: "live-" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, ...podOf({}) },
    },
  });
}

const serverBusy: LiveFault = {
  rule: "server-busy",
  culprit: /, the most bytes sent$/,
  also: ["slow-requests", "list-storm"],
  fault: (world) => {
    // Dry runs: a slow disk would leave the loop waiting.
    const path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    const body = { metadata: { generateName: "live-" }, data: { text: "x".repeat(2_000) } };
    return Promise.resolve({
      load: () => Promise.all(times(1_500, () => world.ask("POST", path, body))),
    });
  },
  neighbour: (world) =>
    Promise.resolve({ load: () => Promise.all(times(20, () => createOne(world, "configmaps"))) }),
};

/** Looked at together: what one of them does is no other's neighbour. */
export const faultGroups: readonly (readonly LiveFault[])[] = [
  [webhook, slowRequests, aggregatedApi, leaderStuck],
  [flowControl],
  [conversion, requestErrors],
  [listStorm, greedyCaller, largeLists, watchFanOut],
  [silentNodes, podHerd, largeEndpoints],
];

/** Of the scheduler and the controllers, where one process is all of them. */
export const planeFaultGroups: readonly (readonly LiveFault[])[] = [
  [serverBusy],
  [schedulerQueue],
  [stuckLoop],
];
