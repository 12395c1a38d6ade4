/**
 * Authorizers by --authorization-config: webhooks that are processes of their own, with conditions and failure policies,
 * beside a stock API server with the same file; a file that changes.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { noStock, stockPrograms } from "../peers.ts";
import { until } from "../role-harness.ts";
import {
  adminToken,
  ask,
  type OurServer,
  reviewAccess,
  type RunningWebhook,
  startOurs,
  startWebhook,
} from "./gate-world.ts";
import { startStockBeside } from "./stock-beside.ts";

const scratch = temporaryDirectory("authorizers");
const file = join(scratch, "authorization.yaml");

function webhookOf(name: string, { kubeconfig }: RunningWebhook, more: object): object {
  return {
    type: "Webhook",
    name,
    webhook: {
      timeout: "30s",
      authorizedTTL: "30s",
      unauthorizedTTL: "30s",
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile: kubeconfig },
      ...more,
    },
  };
}

/** Secrets are asked with failure closed, all else open. */
function configuration(webhook: RunningWebhook): object {
  const isSecret =
    "has(request.resourceAttributes) && request.resourceAttributes.resource == 'secrets'";
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [
      webhookOf("closed", webhook, {
        failurePolicy: "Deny",
        matchConditions: [{ expression: isSecret }],
      }),
      webhookOf("open", webhook, {
        failurePolicy: "NoOpinion",
        matchConditions: [
          { expression: "request.user != 'skipped'" },
          { expression: `!(${isSecret})` },
        ],
      }),
      { type: "Node", name: "node" },
      { type: "RBAC", name: "rbac" },
    ],
  };
}

const opened = { allowed: false };

/** Who asks for pods and for secrets, and what SubjectAccessReview says; `error`: it says why nobody could be asked. */
const users: readonly (readonly [user: string, pods: object, secrets: object])[] = [
  [
    "allowed",
    { allowed: true, reason: "said the webhook" },
    { allowed: true, reason: "said the webhook" },
  ],
  [
    "denied",
    { allowed: false, denied: true, reason: "never, said the webhook" },
    { allowed: false, denied: true, reason: "never, said the webhook" },
  ],
  ["nobody", opened, opened],
  ["skipped", opened, opened],
  [
    "both",
    {
      allowed: false,
      denied: true,
      evaluationError: "webhook subject access review returned both allow and deny response",
    },
    {
      allowed: false,
      denied: true,
      evaluationError: "webhook subject access review returned both allow and deny response",
    },
  ],
];

/** Their errors are worded by the host's network and decoder: only that there is one is compared. */
const failing = ["garbage", "liar", "refusing", "huge"];

function withoutError(status: unknown): unknown {
  const { evaluationError, ...rest } = status as { readonly evaluationError?: string };
  return { ...rest, hasError: evaluationError !== undefined };
}

describe("authorizers of a configuration", () => {
  let webhook: RunningWebhook;
  let ours: OurServer;
  const review = (user: string, resource = "pods"): Promise<unknown> =>
    reviewAccess(ours.url, user, { resource });

  before(async () => {
    webhook = await startWebhook(join(scratch, "webhook"));
    writeFileSync(file, JSON.stringify(configuration(webhook)));
    ours = await startOurs(join(scratch, "ours"), `--authorization-config=${file}`);
  });

  after(async () => {
    // It was started first: left running, it would keep this process when the server does not start.
    await webhook.stop();
    await ours.role.stop();
    removeDirectory(scratch);
  });

  for (const [user, pods, secrets] of users) {
    test(`SubjectAccessReview of ${user}`, async () => {
      assert.deepEqual(await review(user), pods);
      assert.deepEqual(await review(user, "secrets"), secrets);
    });
  }

  for (const user of failing) {
    test(`a webhook that fails for ${user} opens or closes by its policy, and never allows`, async () => {
      const open = withoutError(await review(user));
      assert.deepEqual(open, { allowed: false, hasError: true });
      const closed = withoutError(await review(user, "secrets"));
      assert.deepEqual(closed, { allowed: false, denied: true, hasError: true });
    });
  }

  test("an administrator is not asked about, and the webhook sees who asks by its own credential", async () => {
    const before = webhook.asked().length;
    assert.equal((await ask(`${ours.url}/api/v1/pods`, adminToken)).status, 200);
    assert.equal(webhook.asked().length, before);
    assert.ok(
      webhook.asked().every(({ authorization }) => authorization === "Bearer of-the-server"),
    );
  });

  test("a request that nobody allows is 500 where the webhook failed, and 403 where it denied", async () => {
    const as = (user: string) =>
      ask(`${ours.url}/api/v1/pods`, adminToken, undefined, { "impersonate-user": user });
    const failed = await as("garbage");
    assert.equal(failed.status, 500);
    assert.match(failed.text, /^Internal Server Error: "\/api\/v1\/pods": /);
    const refused = await as("denied");
    assert.equal(refused.status, 403);
    assert.match(refused.text, /at the cluster scope: never, said the webhook"/);
    assert.equal((await as("allowed")).status, 200);
  });

  test("a stock API server with this file says the same", async (context) => {
    const programs = stockPrograms();
    if (programs === undefined) return context.skip(noStock);
    const flags = [`--authorization-config=${file}`];
    const stock = await startStockBeside(programs, join(scratch, "stock"), flags, {
      hasModes: false,
    });
    try {
      for (const [user] of users) {
        for (const resource of ["pods", "secrets"]) {
          const theirs = await reviewAccess(stock.url, user, { resource });
          assert.deepEqual(await review(user, resource), theirs, `${user} ${resource}`);
        }
      }
      for (const user of failing) {
        const answer = await ask(`${stock.url}/api/v1/pods`, adminToken, undefined, {
          "impersonate-user": user,
        });
        assert.equal(answer.status, 500, user);
        assert.match(answer.text, /^Internal Server Error: "\/api\/v1\/pods": /);
        for (const resource of ["pods", "secrets"]) {
          const theirs = withoutError(await reviewAccess(stock.url, user, { resource }));
          const own = withoutError(await review(user, resource));
          assert.deepEqual(own, theirs, `${user} ${resource}`);
        }
      }
    } finally {
      await stock.stop();
    }
  });

  test("a changed file is taken, and one that is half written, or locks out, is not", async () => {
    const whole = JSON.stringify(configuration(webhook));
    const reloads = (status: string, count: number): Promise<true> =>
      until(`${count} reloads that are a ${status}`, async () => {
        const { text } = await ask(`${ours.url}/metrics`, adminToken);
        const name = "apiserver_authorization_config_controller_automatic_reloads_total";
        const line = text.split("\n").find((one) => one.startsWith(`${name}{status="${status}"`));
        return Number(line?.split(" ").at(-1)) >= count ? true : undefined;
      });
    writeFileSync(file, whole.slice(0, 300));
    await reloads("failure", 1);
    const { apiVersion, kind } = JSON.parse(whole) as { apiVersion: string; kind: string };
    writeFileSync(file, JSON.stringify({ apiVersion, kind, authorizers: [] }));
    await reloads("failure", 2);
    const away = webhookOf(
      "away",
      { ...webhook, kubeconfig: "/nowhere" },
      { failurePolicy: "Deny" },
    );
    writeFileSync(file, JSON.stringify({ apiVersion, kind, authorizers: [away] }));
    await reloads("failure", 3);
    assert.deepEqual(await review("allowed"), { allowed: true, reason: "said the webhook" });
    writeFileSync(
      file,
      JSON.stringify({ apiVersion, kind, authorizers: [{ type: "RBAC", name: "r" }] }),
    );
    await reloads("success", 1);
    assert.deepEqual(await review("allowed"), { allowed: false });
    writeFileSync(
      file,
      JSON.stringify({ apiVersion, kind, authorizers: [{ type: "AlwaysAllow", name: "a" }] }),
    );
    await reloads("success", 2);
    assert.deepEqual(await review("nobody"), { allowed: true });
    writeFileSync(file, whole);
    await reloads("success", 3);
    assert.deepEqual(await review("nobody"), { allowed: false });
  });
});
