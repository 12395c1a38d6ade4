/** Tokens that a webhook knows, which is a process of its own: beside a stock API server with the same files. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { noStock, stockPrograms } from "../peers.ts";
import {
  adminToken,
  ask,
  type OurServer,
  reviewToken,
  type RunningWebhook,
  startOurs,
  startWebhook,
} from "./gate-world.ts";
import { startStockBeside } from "./stock-beside.ts";

const scratch = temporaryDirectory("token-webhook");
const api = "https://kubernetes.default.svc";
const invalid = "invalid bearer token";

const hooked = {
  authenticated: true,
  user: {
    username: "hooked",
    uid: "7",
    groups: ["g", "system:authenticated"],
    extra: { "example.com/x": ["y"] },
  },
  audiences: [api],
};

const tokens: readonly (readonly [token: string, audiences: readonly string[], says: object])[] = [
  ["good", [], hooked],
  ["good", [api, "vault"], hooked],
  ["good", ["vault"], { user: {}, error: invalid }],
  ["audience", [], { user: {}, error: invalid }],
  [
    "audience",
    ["elsewhere"],
    {
      authenticated: true,
      user: { username: "hooked", groups: ["system:authenticated"] },
      audiences: ["elsewhere"],
    },
  ],
  ["refused", [], { user: {}, error: `[${invalid}, the webhook does not know it]` }],
  ["unknown", [], { user: {}, error: invalid }],
];

/** Their errors are worded by the decoder and the network: that there is one, and no user, is compared. */
const failing = ["liar", "garbage", "huge", "refusing"];

function shown(status: unknown): unknown {
  const { error, ...rest } = status as { readonly error?: string };
  return { ...rest, hasError: error !== undefined };
}

describe("a token webhook", () => {
  let webhook: RunningWebhook;
  let ours: OurServer;
  const flags = (): readonly string[] => [
    `--authentication-token-webhook-config-file=${webhook.kubeconfig}`,
    "--authentication-token-webhook-version=v1",
  ];

  before(async () => {
    webhook = await startWebhook(join(scratch, "webhook"));
    const issuer = `--service-account-issuer=${api}`;
    ours = await startOurs(join(scratch, "ours"), issuer, ...flags());
  });

  after(async () => {
    // It was started first: left running, it would keep this process when the server does not start.
    await webhook.stop();
    await ours.role.stop();
    removeDirectory(scratch);
  });

  for (const [token, audiences, says] of tokens) {
    test(`TokenReview of ${token} for [${audiences.join(" ")}]`, async () => {
      const status = await reviewToken(ours.url, token, audiences);
      assert.deepEqual(status, says);
    });
  }

  for (const token of failing) {
    test(`a webhook that fails for ${token} names nobody`, async () => {
      const status = await reviewToken(ours.url, token);
      assert.deepEqual(shown(status), { user: {}, hasError: true });
      assert.equal((await ask(`${ours.url}/version`, token)).status, 401);
    });
  }

  test("a user without a name is nobody, where a stock API server takes it for a user", async () => {
    const status = await reviewToken(ours.url, "nameless");
    assert.deepEqual(shown(status), { user: {}, hasError: true });
  });

  test("a request with its token is the webhook's user, asked once; ours is not asked about", async () => {
    const { status, text } = await ask(`${ours.url}/api/v1/nodes`, "good");
    assert.equal(status, 403);
    assert.match(text, /User \\"hooked\\" cannot list/);
    const before = webhook.asked().length;
    await ask(`${ours.url}/api/v1/nodes`, "good");
    await ask(`${ours.url}/api/v1/nodes`, adminToken);
    assert.equal(webhook.asked().length, before);
  });

  test("a stock API server with these files says the same", async (context) => {
    const programs = stockPrograms();
    if (programs === undefined) return context.skip(noStock);
    const stock = await startStockBeside(programs, join(scratch, "stock"), flags());
    try {
      for (const [token, audiences, says] of tokens) {
        const status = await reviewToken(stock.url, token, audiences);
        assert.deepEqual(status, says, `${token} ${audiences.join(" ")}`);
      }
      for (const token of failing) {
        const status = await reviewToken(stock.url, token);
        assert.deepEqual(shown(status), { user: {}, hasError: true }, token);
      }
    } finally {
      await stock.stop();
    }
  });
});
