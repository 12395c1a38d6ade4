/** Nothing that a user writes to deny something is stored and then ignored. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ensurePki } from "#auth/pki-files.ts";
import { makeKeyPair } from "#auth/pki.ts";
import { StaticTokens } from "#auth/token-file.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

describe("kinds that wait for a controller", () => {
  const waiting: readonly (readonly [path: string, body: object, warning: RegExp])[] = [
    [
      "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations",
      {
        apiVersion: "storagemigration.k8s.io/v1beta1",
        kind: "StorageVersionMigration",
        metadata: { name: "more" },
        spec: { resource: { group: "apps", resource: "deployments" } },
      },
      /StorageVersionMigration is stored, but no controller here rewrites objects/,
    ],
  ];

  test("are stored with a warning, and no condition claims that they work", async () => {
    const promised = await startPromised();
    try {
      for (const [path, body, warning] of waiting) {
        const answer = await promised.ask("POST", path, { body });
        assert.equal(answer.status, 201, answer.text);
        assert.match(answer.warnings, warning);
        assert.doesNotMatch(answer.text, /"status":"True"/);
      }
      const plain = await promised.ask("POST", "/api/v1/namespaces", {
        body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "plain" } },
      });
      assert.equal(plain.warnings, "");
    } finally {
      await promised.stop();
    }
  });
});

describe("mandatory flow control", () => {
  const group = "/apis/flowcontrol.apiserver.k8s.io/v1";

  test("exempt and catch-all come back at once, as they were, whoever deletes them", async () => {
    const { plane, ask: askPlane, stop } = await startPromised();
    try {
      for (const resource of ["flowschemas", "prioritylevelconfigurations"]) {
        for (const name of ["exempt", "catch-all"]) {
          const path = `${group}/${resource}/${name}`;
          const before = await askPlane("GET", path);
          assert.equal(before.status, 200);
          const back = comesBack(plane, resource, name, before.json.metadata?.uid ?? "");
          assert.equal((await askPlane("DELETE", path)).status, 200);
          const spec = await back;
          assert.deepEqual(spec, before.json["spec"]);
          assert.equal((await askPlane("GET", path)).status, 200);
        }
      }
    } finally {
      await stop();
    }
  });
});

/** Resolves with the spec of an object of this name and another uid. */
function comesBack(
  { client }: PromisedPlane["plane"],
  resource: string,
  name: string,
  uid: string,
): Promise<unknown> {
  const ref = { group: "flowcontrol.apiserver.k8s.io", version: "v1", resource };
  const seen = new AbortController();
  return new Promise((resolve, reject) => {
    const take = (events: readonly { readonly object: AnyObject }[]): void => {
      const found = events.find(
        ({ object }) => object.metadata?.name === name && object.metadata.uid !== uid,
      );
      if (found === undefined) return;
      seen.abort();
      resolve(found.object["spec"]);
    };
    client.watch(ref, { signal: seen.signal, timeoutSeconds: 20 }, take).then(
      () => reject(new Error(`${resource} ${name} did not come back`)),
      () => {},
    );
  });
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";

/** Lets a user read everything; it is in no group that a flow schema of the system knows. */
async function allowReads({ ask: askPlane }: PromisedPlane, user: string): Promise<void> {
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: user },
    rules,
  };
  const binding = {
    ...role,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  };
  for (const [path, body] of [
    ["clusterroles", role],
    ["clusterrolebindings", binding],
  ] as const) {
    assert.equal((await askPlane("POST", `${rbac}/${path}`, { body })).status, 201);
  }
}

describe("what a list costs", () => {
  test("follows from the bytes it touches: all, a namespace's, or a page's", async () => {
    const token = "list-token";
    const staticTokens = new StaticTokens(`${token},lister,1\n`);
    const promised = await startPromised({ staticTokens });
    try {
      await allowReads(promised, "lister");
      const data = { large: "x".repeat(100_000) };
      for (const name of ["a", "b", "c", "d", "e"]) {
        const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
        assert.equal((await promised.ask("POST", configMaps, { body })).status, 201);
      }
      const seatsOf = async (path: string): Promise<number> => {
        const before = seats((await promised.ask("GET", "/metrics")).text);
        assert.equal((await promised.ask("GET", path, { token })).status, 200);
        return seats((await promised.ask("GET", "/metrics")).text) - before;
      };
      assert.equal(await seatsOf("/api/v1/configmaps"), 6);
      assert.equal(await seatsOf(configMaps), 6);
      assert.equal(await seatsOf(`${configMaps}?limit=1`), 2);
      assert.equal(await seatsOf("/api/v1/namespaces/kube-public/configmaps"), 1);
      assert.equal(await seatsOf(`${configMaps}?fieldSelector=metadata.name%3Da`), 1);
      assert.equal(await seatsOf(`${configMaps}/a`), 1);
      assert.equal(await seatsOf("/api/v1/nodes"), 1);
    } finally {
      await promised.stop();
    }
  });
});

function seats(metrics: string): number {
  const name = "apiserver_flowcontrol_work_estimated_seats_sum";
  const line = new RegExp(`^${name}\\{.*flow_schema="global-default"\\} (\\d+)`, "m");
  return Number(line.exec(metrics)?.[1] ?? 0);
}

describe("--token-auth-file", () => {
  const directory = temporaryDirectory("tokens");
  after(() => removeDirectory(directory));

  test("a line is a user with its groups; a token that is in no line is 401", async () => {
    const staticTokens = new StaticTokens('s3cret,ops,7,"system:masters,oncall"\nplain,jane,8\n');
    const promised = await startPromised({ staticTokens });
    try {
      const who = async (token: string): Promise<unknown> => {
        const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
        const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        const { status, json } = await promised.ask("POST", path, { body, token });
        return status === 201 ? (json["status"] as { userInfo: object }).userInfo : status;
      };
      assert.deepEqual(await who("s3cret"), {
        username: "ops",
        uid: "7",
        groups: ["system:masters", "oncall", "system:authenticated"],
      });
      assert.deepEqual(await who("plain"), {
        username: "jane",
        uid: "8",
        groups: ["system:authenticated"],
      });
      assert.equal(await who("s3cre"), 401);
    } finally {
      await promised.stop();
    }
  });

  test("`up` reads it, and tells a mistake by file and line, never by the token", () => {
    const up = ["up", "--port", "0", "--nodes", "0", "--data-dir", join(directory, "data")];
    const file = join(directory, "tokens.csv");
    writeFileSync(file, "good,user,1\nonlytoken\n");
    const bad = pilothouse([...up, "--token-auth-file", file]);
    assert.equal(bad.code, 1);
    assert.match(
      bad.stderr,
      /^pilothouse: --token-auth-file .*tokens\.csv: token file line 2: .*\n$/,
    );
    assert.doesNotMatch(bad.stderr, /onlytoken/);
    const none = pilothouse([...up, "--token-auth-file", join(directory, "none")]);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /^pilothouse: cannot read /);
  });
});

describe("keys of service account tokens", () => {
  const options = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    extraHosts: [],
    serviceAddress,
  };

  test("rotate: a new sa.key signs, tokens of the old one are good until its public key goes", async () => {
    const directory = temporaryDirectory("rotation");
    try {
      const first = ensurePki(directory, options);
      const one = await startPromised({ pki: first, storeDirectory: join(directory, "store") });
      const old = await tokenOf(one);
      await one.stop();

      writeFileSync(join(directory, "sa.key"), makeKeyPair().privateKey, { mode: 0o600 });
      const second = ensurePki(directory, options);
      assert.deepEqual(second.serviceAccount.olderPublicKeys, [first.serviceAccount.publicKey]);
      const two = await startPromised({ pki: second, storeDirectory: join(directory, "store") });
      const fresh = await tokenOf(two);
      assert.notEqual(kidOf(fresh), kidOf(old));
      for (const token of [old, fresh])
        assert.equal(await reads(two, token), 403, "known, no rights");
      const { json } = await two.ask("GET", "/openid/v1/jwks");
      const published = (json["keys"] as readonly { readonly kid: string }[]).map(({ kid }) => kid);
      assert.deepEqual(published, [kidOf(fresh), kidOf(old)]);
      await two.stop();

      writeFileSync(join(directory, "sa.pub"), second.serviceAccount.publicKey);
      const third = ensurePki(directory, options);
      assert.deepEqual(third.written, [], "the same files are read again, and left as they are");
      const three = await startPromised({ pki: third, storeDirectory: join(directory, "store") });
      assert.equal(await reads(three, old), 401, "its key is no longer trusted");
      assert.equal(await reads(three, fresh), 403);
      await three.stop();
    } finally {
      removeDirectory(directory);
    }
  });

  async function tokenOf({ ask: askPlane }: PromisedPlane): Promise<string> {
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    await askPlane("POST", accounts, { body: account });
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { json } = await askPlane("POST", `${accounts}/robot/token`, { body });
    return (json["status"] as { token: string }).token;
  }

  async function reads({ ask: askPlane }: PromisedPlane, token: string): Promise<number> {
    return (await askPlane("GET", configMaps, { token })).status;
  }

  const kidOf = (token: string): string =>
    (JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as { kid: string })
      .kid;
});

describe("Secrets of legacy service account tokens", () => {
  const base = "/api/v1/namespaces/default";
  const type = "kubernetes.io/service-account-token";
  const secret = (name: string, account: string): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, annotations: { "kubernetes.io/service-account.name": account } },
    type,
  });

  test("are filled, their token is good while they and the account live, and they go with it", async () => {
    const promised = await startPromised({ withLoops: true });
    const { ask: askPlane } = promised;
    try {
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
      assert.equal(
        (await askPlane("POST", `${base}/serviceaccounts`, { body: account })).status,
        201,
      );
      await askPlane("POST", `${base}/secrets`, { body: secret("kept", "robot") });
      const filled = await becomes(promised, "kept", (object) => dataOf(object)["token"] !== "");
      const data = dataOf(filled);
      assert.match(data["ca.crt"] ?? "", /^-----BEGIN CERTIFICATE-----/);
      assert.equal(data["namespace"], "default");
      assert.match(
        filled?.metadata?.annotations?.["kubernetes.io/service-account.uid"] ?? "",
        /^\w/,
      );
      const token = data["token"] ?? "";
      assert.equal(await whoIs(promised, token), "system:serviceaccount:default:robot");
      const label = "kubernetes.io/legacy-token-last-used";
      const used = await becomes(
        promised,
        "kept",
        (object) => object.metadata?.labels?.[label] !== undefined,
      );
      assert.match(used?.metadata?.labels?.[label] ?? "", /^\d{4}-\d{2}-\d{2}$/);

      assert.equal((await askPlane("DELETE", `${base}/secrets/kept`)).status, 200);
      assert.equal(await whoIs(promised, token), 401, "its Secret is gone");
      const copy = { apiVersion: "v1", kind: "Secret", metadata: { name: "kept" } };
      const body = { ...copy, stringData: { token } };
      assert.equal((await askPlane("POST", `${base}/secrets`, { body })).status, 201);
      assert.equal(await whoIs(promised, token), 401, "a copy in a Secret of another type");

      await askPlane("POST", `${base}/secrets`, { body: secret("goes", "robot") });
      const other = await becomes(promised, "goes", (object) => dataOf(object)["token"] !== "");
      assert.notEqual(dataOf(other)["token"], token);
      assert.equal((await askPlane("DELETE", `${base}/serviceaccounts/robot`)).status, 200);
      assert.equal(await whoIs(promised, dataOf(other)["token"] ?? ""), 401, "the account is gone");
      await becomes(promised, "goes", "gone");

      await askPlane("POST", `${base}/secrets`, { body: secret("orphan", "nobody") });
      await becomes(promised, "orphan", "gone");
      const tracking = "kube-apiserver-legacy-service-account-token-tracking";
      const since = await askPlane("GET", `/api/v1/namespaces/kube-system/configmaps/${tracking}`);
      assert.match((since.json["data"] as { since: string }).since, /^\d{4}-\d{2}-\d{2}$/);
    } finally {
      await promised.stop();
    }
  });

  function dataOf(object: AnyObject | undefined): Readonly<Record<string, string>> {
    const data = (object?.["data"] ?? {}) as Readonly<Record<string, string>>;
    const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
    return { token: text("token"), namespace: text("namespace"), "ca.crt": text("ca.crt") };
  }

  /** Resolves with the Secret as soon as it is so; with undefined when it is gone. */
  async function becomes(
    { plane: { client } }: PromisedPlane,
    name: string,
    isSo: "gone" | ((object: AnyObject) => boolean),
  ): Promise<AnyObject | undefined> {
    const ref = { group: "", version: "v1", resource: "secrets" };
    const seen = new AbortController();
    const call = { namespace: "default", fieldSelector: `metadata.name=${name}` };
    const { items, metadata } = await client.list<AnyObject>(ref, call);
    const [now] = items;
    if (isSo === "gone" ? now === undefined : now !== undefined && isSo(now)) return now;
    return new Promise((resolve, reject) => {
      const { resourceVersion = "" } = metadata;
      const watched = { ...call, resourceVersion, timeoutSeconds: 20, signal: seen.signal };
      client
        .watch<AnyObject>(ref, watched, (events) => {
          for (const { type: event, object } of events) {
            if (event === "DELETED" ? isSo !== "gone" : isSo === "gone" || !isSo(object)) continue;
            seen.abort();
            resolve(event === "DELETED" ? undefined : object);
          }
        })
        .then(
          () => reject(new Error(`secret ${name} did not become so`)),
          () => {},
        );
    });
  }

  async function whoIs({ ask: askPlane }: PromisedPlane, token: string): Promise<unknown> {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const { status, json } = await askPlane("POST", path, { body, token });
    if (status !== 201) return status;
    return (json["status"] as { userInfo: { username: string } }).userInfo.username;
  }
});
