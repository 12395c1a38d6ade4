/** What fairness, audit and encryption cost a request, each alone; for `npm run bench -- gates`. */
import { randomBytes } from "node:crypto";
import type { AnyObject } from "#api/object.ts";
import { RbacAuthorizer } from "#auth/rbac.ts";
import { createAuthenticator } from "#auth/authenticate.ts";
import { makeKeyPair } from "#auth/pki.ts";
import { ServiceAccountTokens } from "#auth/service-account-token.ts";
import { attributes, FakeLookup, request } from "#auth/testing.ts";
import { CertificateAuthenticator } from "#auth/x509.ts";
import { must } from "#base/assert.ts";
import { cipherOf } from "#encryption/providers.ts";
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from "#flowcontrol/bootstrap.ts";
import { FairQueue, type Seating } from "#flowcontrol/fair-queue.ts";
import { Classifier, orderSchemas } from "#flowcontrol/classify.ts";
import { createGate, gateDefaults } from "#flowcontrol/gate.ts";
import { hashFlow } from "#flowcontrol/shuffle-shard.ts";
import { oneSeat } from "#flowcontrol/work-size.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { PlainRequest } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { metadataPolicy } from "#server/audit/policy.ts";
import { factsOf } from "#server/audit/request-audit.ts";
import { AuditTrail } from "#server/audit/trail.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { requestInfo } from "#server/request-info.ts";

/** By CPU time, in microseconds a time. */
type Measure = (name: string, times: number, work: () => void | Promise<void>) => Promise<void>;

const clock = new NodeClock();
const users = 10_000;
const path = "/api/v1/namespaces/ns/pods/p";
const query = new URLSearchParams();
const info = requestInfo("GET", path, query);
const callers = Array.from({ length: users }, (_, at) => ({
  name: `user-${at}`,
  groups: ["dev", "system:authenticated"],
}));

/** Those of a cluster and as many more, each for one user, as it takes to be `count`. */
function schemas(count: number): readonly AnyObject[] {
  const own = bootstrapFlowSchemas();
  const further = Array.from({ length: count - own.length }, (_, at) => ({
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name: `team-${at}` },
    spec: {
      priorityLevelConfiguration: { name: "workload-low" },
      matchingPrecedence: 1_000 + at,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "Group", group: { name: `team-${at}` } }],
          resourceRules: [
            {
              verbs: ["*"],
              apiGroups: ["*"],
              resources: ["*"],
              namespaces: ["*"],
              clusterScope: true,
            },
          ],
        },
      ],
    },
  }));
  return [...further, ...own];
}

/** Classified by the last of 50 schemas, seated, released; each request of another user, by RBAC with as many bindings. */
export async function measureFairness(measure: Measure, rounds: number): Promise<void> {
  const all = [...schemas(50), ...bootstrapPriorityLevels()];
  const gate = createGate({ clock, lookup: new FakeLookup(all) }, gateDefaults);
  const signal = new AbortController().signal;
  let at = 0;
  const next = () => must(callers[at++ % users], "there are callers");
  const pass = async (): Promise<void> => {
    const answer = await gate.enter({ info, user: next(), query, signal });
    if (answer.kind === "seated") answer.release();
  };
  await measure("fairness, 50 schemas", rounds, pass);
  await measure("fairness, 50 schemas, user seen for the first time", rounds, async () => {
    const answer = await gate.enter({ info, user: { ...next() }, query, signal });
    if (answer.kind === "seated") answer.release();
  });
  const rbac = manyBindings();
  await measure("RBAC, 10,000 users", rounds, () => {
    rbac.authorize(attributes(next()));
  });
  await measure("fairness and RBAC", rounds, async () => {
    await pass();
    rbac.authorize(attributes(next()));
  });
  gate.close();
}

/**
 * A service account's token that came before on its connection: who it is (its account is looked up), its FlowSchema of 50,
 * and what it may by RBAC with 10,000 bindings. Without a seat.
 */
export async function measureRemembered(measure: Measure, rounds: number): Promise<void> {
  const account = { name: "app", uid: "u" };
  const found = { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...account } };
  const lookup = { get: () => found, list: () => [] };
  const { privateKey } = makeKeyPair();
  const random = new NodeRandom();
  const keys = { issuer: "i", apiAudiences: ["i"], privateKey, olderPublicKeys: [] };
  const tokens = new ServiceAccountTokens({ clock, random, lookup }, keys);
  const common = { namespace: "ns", audiences: ["i"], expirationSeconds: 3_600 };
  const { token } = tokens.issue({ ...common, account });
  const authenticator = createAuthenticator(
    { certificates: new CertificateAuthenticator({ clock }), tokens: [tokens] },
    { mayBeAnonymous: () => false },
  );
  const connection = { belongsTo: () => {} };
  const peer = { kind: "socket", address: "10.0.0.7", connection } as const;
  const asked = request({ peer, headers: { authorization: `Bearer ${token}` } });
  const levels = new Set(bootstrapPriorityLevels().map(({ metadata }) => metadata?.name ?? ""));
  const classifier = new Classifier(orderSchemas(schemas(50), levels));
  const rbac = manyBindings("system:serviceaccount:ns:app");
  await measure("remembered on a connection", rounds, async () => {
    const result = await authenticator.authenticate(asked);
    if (result.kind !== "user") throw new Error(result.kind);
    classifier.classify(info, result.user);
    rbac.authorize(attributes(result.user));
  });
  await measure(
    "of these, authentication",
    rounds,
    async () => void (await authenticator.authenticate(asked)),
  );
  const result = await authenticator.authenticate(asked);
  if (result.kind !== "user") throw new Error(result.kind);
  const { user } = result;
  await measure("of these, classification", rounds, () => void classifier.classify(info, user));
  await measure("of these, authorization", rounds, () => void rbac.authorize(attributes(user)));
  await measure("the same token on a new connection", rounds / 4, async () => {
    await authenticator.authenticate(
      request({ ...asked, peer: { ...peer, connection: { ...connection } } }),
    );
  });
}

/** One for each caller, and for `further`. */
function manyBindings(further = "somebody"): RbacAuthorizer {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];
  const role = { apiVersion, kind: "ClusterRole", metadata: { name: "reader" }, rules };
  const bindings = [...callers, { name: further }].map(({ name }) => ({
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "User", name }],
  }));
  const lookup = new FakeLookup([role, ...bindings]);
  return new RbacAuthorizer({ lookup, policyVersion: () => 1 });
}

/** One seat, and 10,000 works that wait for it, in 256 queues: each time one finishes, the next is seated, and one comes. */
export async function measureDispatch(measure: Measure, rounds: number): Promise<void> {
  const waiting = 10_000;
  const discipline = { kind: "queue", queues: 256, handSize: 8, queueLengthMax: 100 } as const;
  const queue = new FairQueue({ clock, onDemand: () => {} }, { discipline, seatsMax: 1 });
  const hashes = callers.map(({ name }) => hashFlow("s", name));
  let seated: Seating | undefined;
  let at = 0;
  const submit = (): void => {
    const hash = must(hashes[at++ % users], "there are callers");
    const work: Seating["work"] = { ...oneSeat, onSeat: () => (seated = made) };
    const made = queue.submit(work, hash);
    if (made?.state === "seated") seated = made;
  };
  while (queue.waiting < waiting) submit();
  await measure(`dispatch, ${queue.waiting} waiting`, rounds, () => {
    queue.finish(must(seated, "one is seated"));
    submit();
  });
}

/** One event a request, as text to nowhere. */
export async function measureAudit(measure: Measure, rounds: number): Promise<void> {
  const take = (event: { json(): Uint8Array | string }): boolean => event.json().length > 0;
  const trail = new AuditTrail({
    clock,
    log: silentLog,
    metrics: new MetricSet(),
    policy: metadataPolicy,
    backends: [{ take }],
  });
  const seen = {
    method: "GET",
    path,
    query: "",
    headers: { "user-agent": "kubelet/v1.36.3 (linux/amd64) kubernetes/abcdef" },
    peer: { kind: "socket", address: "10.0.0.7" },
  } as unknown as PlainRequest; // what the audit reads of one
  const user = must(callers[0], "there are callers");
  await measure("audit at Metadata", rounds, async () => {
    const received = { request: seen, info, auditId: "6d0e9e0a-2a3b", receivedMs: clock.nowMs() };
    const event = must(
      trail.begin(user, info, () => factsOf(received, user)),
      "the policy keeps it",
    );
    event.status = { code: 200 };
    await trail.stage(event, "ResponseComplete");
  });
}

export async function measureEncryption(measure: Measure, rounds: number): Promise<void> {
  const cipher = cipherOf("aesgcm", randomBytes(32));
  const value = randomBytes(2_500);
  await measure("aesgcm, 2.5 KB", rounds, () => void cipher.seal("/registry/secrets/a/b", value));
}
