/** `npm run bench -- gates`: see `usage`. In this process, on one core. */
import { BoundedCache } from "#auth/bounded-cache.ts";
import { createAuthenticator } from "#auth/authenticate.ts";
import { IssuerTokens } from "#auth/issuers/issuer-tokens.ts";
import { signingAlgorithms } from "#auth/issuers/jws.ts";
import { configured, TestIssuer } from "#auth/issuers/testing.ts";
import { RbacAuthorizer } from "#auth/rbac.ts";
import { attributes, FakeLookup, request } from "#auth/testing.ts";
import { ReviewClient } from "#auth/webhooks/review-client.ts";
import { WebhookAuthorizer } from "#auth/webhooks/webhook-authorizer.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { flagsOf } from "./flags.ts";
import {
  measureAudit,
  measureDispatch,
  measureEncryption,
  measureFairness,
  measureRemembered,
} from "./gate-costs.ts";
import { measureScrape } from "./scrape.ts";

const usage = `npm run bench -- gates [--tokens 2000] [--rounds 200000] [--bindings 10000] [--objects 50000]

What the gates cost a request, in microseconds of CPU: tokens of an issuer seen for the first time, by algorithm, and remembered;
authorization by RBAC with many bindings; a remembered answer of an authorization webhook; a seat of priority and fairness with
50 schemas, by itself and with RBAC for 10,000 users; the next of 10,000 waiting works; an audit event; a value sealed.
Then, in milliseconds, what a scrape of /metrics costs the loop of a server with many objects and series.

  --tokens N     tokens that are verified
  --rounds N     requests with what is remembered
  --bindings N   ClusterRoleBindings
  --objects N    objects that the scraped server has
`;
const flags = flagsOf(usage, {
  tokens: "2000",
  rounds: "200000",
  bindings: "10000",
  objects: "50000",
});
const count = flags.number("tokens");
const rounds = flags.number("rounds");
const clock = new NodeClock();
const figures: Record<string, number> = {};

/** CPU time: what others do on the machine does not count. */
const cpuMicroseconds = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
const microseconds = (start: number, times: number): number =>
  Number(((cpuMicroseconds() - start) / times).toFixed(2));

function authenticatorOf(issuer: TestIssuer) {
  const issuers = configured({
    claimMappings: {
      username: { expression: "claims.sub + '@example.com'" },
      groups: { claim: "groups", prefix: "oidc:" },
    },
    claimValidationRules: [{ expression: "claims.?email_verified.orValue(true) == true" }],
  });
  const deps = { clock, log: silentLog, open: () => issuer.fetch, issuers: () => issuers };
  const tokens = new IssuerTokens(deps, { apiAudiences: ["api"], algorithms: signingAlgorithms });
  const none = { authenticate: () => Promise.resolve({ kind: "none" as const }) };
  return createAuthenticator(
    { certificates: none, tokens: [tokens] },
    { mayBeAnonymous: () => true },
  );
}

async function measureTokens(algorithm: string): Promise<void> {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k", algorithm);
  const authenticator = authenticatorOf(issuer);
  const made: string[] = [];
  for (let at = 0; at < count; at++) {
    made.push(await issuer.token(key, { jti: String(at), groups: ["dev", "ops"] }));
  }
  const asked = made.map((token) => request({ headers: { authorization: `Bearer ${token}` } }));
  const [first] = asked;
  if (first === undefined) return;
  await authenticator.authenticate(first);
  let start = cpuMicroseconds();
  for (const each of asked) await authenticator.authenticate(each);
  figures[`${algorithm} uncached`] = microseconds(start, count);
  start = cpuMicroseconds();
  for (let at = 0; at < rounds; at++) await authenticator.authenticate(first);
  figures[`${algorithm} remembered`] = microseconds(start, rounds);
}

function measureRbac(): void {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];
  const role = { apiVersion, kind: "ClusterRole", metadata: { name: "reader" }, rules };
  const bindings = Array.from({ length: flags.number("bindings") }, (_, at) => ({
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: `b${at}` },
    roleRef: { kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "User", name: `user-${at}` }],
  }));
  const rbac = new RbacAuthorizer({
    lookup: new FakeLookup([role, ...bindings]),
    policyVersion: () => 1,
  });
  const question = attributes({ name: "user-77", groups: ["system:authenticated"] });
  rbac.authorize(question);
  const start = cpuMicroseconds();
  for (let at = 0; at < rounds; at++) rbac.authorize(question);
  figures["RBAC"] = microseconds(start, rounds);
}

async function measureWebhook(): Promise<void> {
  const send = () => Promise.resolve({ status: 200, value: { status: { allowed: true } } });
  const client = new ReviewClient({ clock, send }, { timeoutMs: 3_000 });
  const authorizer = new WebhookAuthorizer(
    { clock, log: silentLog, client },
    {
      name: "w",
      version: "v1",
      authorizedTtlMs: 300_000,
      unauthorizedTtlMs: 30_000,
      failurePolicy: "Deny",
      conditions: [],
    },
  );
  const question = attributes({ name: "jane", groups: ["system:authenticated"] });
  await authorizer.authorize(question);
  const start = cpuMicroseconds();
  for (let at = 0; at < rounds; at++) await authorizer.authorize(question);
  figures["webhook remembered"] = microseconds(start, rounds);
}

/** What a remembered token costs at least: a look-up. */
function measureFloor(): void {
  const cache = new BoundedCache<number>({ entriesMax: 10_000 });
  cache.set("key", 1);
  const start = cpuMicroseconds();
  for (let at = 0; at < rounds; at++) cache.get("key");
  figures["floor: a look-up"] = microseconds(start, rounds);
}

for (const algorithm of ["RS256", "ES256", "PS256"]) await measureTokens(algorithm);
measureRbac();
await measureWebhook();
measureFloor();
/** After a tenth of it, which is not counted. */
const measure = async (
  name: string,
  times: number,
  work: () => void | Promise<void>,
): Promise<void> => {
  for (let at = 0; at < times / 10; at++) await work();
  const start = cpuMicroseconds();
  for (let at = 0; at < times; at++) await work();
  figures[name] = microseconds(start, times);
};
await measureRemembered(measure, rounds);
await measureFairness(measure, rounds / 4);
await measureDispatch(measure, rounds / 4);
await measureAudit(measure, rounds / 4);
await measureEncryption(measure, rounds / 4);
console.log(JSON.stringify({ unit: "microseconds of CPU a request", ...figures }));
const scrape = await measureScrape(flags.number("objects"));
console.log(JSON.stringify({ unit: "milliseconds", ...scrape }));
