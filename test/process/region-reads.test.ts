/**
 * Reads of a region through the coordinator: each user sees there what the region's own rights say, the region's audit names
 * the user, and nothing else gets through.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const users = [
  `ann-token,ann,1,"devs,system:masters"`,
  `bob-token,bob,2,"devs"`,
  `root-token,system:kube-controller-manager,3`,
];
const secrets = { group: "", version: "v1", resource: "secrets" };
const clusterRoles = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  resource: "clusterroles",
};
const bindings = { ...clusterRoles, resource: "clusterrolebindings" };

interface Ask {
  readonly token?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

void describe("reads of a region through the coordinator", { timeout: 300_000 }, () => {
  const directory = temporaryDirectory("region-reads");
  const file = (name: string): string => join(directory, name, "kubeconfig");
  const auditFile = join(directory, "audit.log");
  const running: RunningRole[] = [];
  const asking: Asking[] = [];
  let port = 0;

  /** The path as it is, which `fetch` would make plain. */
  function ask(
    path: string,
    { token = "ann-token", method = "GET", headers = {} }: Ask = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        path,
        method,
        headers: { ...authorization, ...headers },
        rejectUnauthorized: false,
      });
      sent.on("error", reject);
      sent.on("upgrade", (_, socket) => {
        socket.destroy();
        resolve({ status: 101, text: "" });
      });
      sent.on("response", (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += String(chunk)));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      sent.end();
    });
  }

  async function open(name: string): Promise<Client> {
    const opened = await clientOf(file(name));
    asking.push(opened);
    return opened.client;
  }

  async function bind(client: Client, role: string, user: string): Promise<void> {
    await client.create<AnyObject>(bindings, "", {
      metadata: { name: `${user}-${role}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    });
  }

  before(async () => {
    writeFileSync(join(directory, "tokens.csv"), users.join("\n"));
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      rules: [{ level: "Metadata" }],
    };
    writeFileSync(join(directory, "policy.yaml"), JSON.stringify(policy));
    const tokens = ["--token-auth-file", join(directory, "tokens.csv")];
    const policyFile = join(directory, "policy.yaml");
    const audit = ["--audit-policy-file", policyFile, "--audit-log-path", auditFile];
    const up = ["up", "--data-dir", join(directory, "eu"), "--port", "0", "--nodes", "1"];
    const [home, region] = await Promise.all([
      startRole([
        "apiserver",
        "--data-dir",
        join(directory, "home"),
        "--secure-port",
        "0",
        ...tokens,
      ]),
      startRole([...up, ...audit]),
    ]);
    running.push(home, region);
    const where = ["--kubeconfig", file("eu"), "--coordinator", file("home"), "--name", "eu"];
    const { code, stderr } = pilothouse(["region", "join", ...where, "--reads"]);
    assert.equal(code, 0, stderr);
    port = await freePort();
    const at = ["--leader-elect=false", "--secure-port", String(port)];
    running.push(await startRole(["coordinator", "--kubeconfig", file("home"), ...at]));
    const [atHome, inRegion] = [await open("home"), await open("eu")];
    await atHome.create<AnyObject>(clusterRoles, "", {
      metadata: { name: "region-reader" },
      rules: [
        {
          apiGroups: ["multicluster.x-k8s.io"],
          resources: ["clusterprofiles/reads"],
          verbs: ["get"],
        },
      ],
    });
    for (const user of ["ann", "system:kube-controller-manager"]) {
      await bind(atHome, "region-reader", user);
    }
    await bind(inRegion, "view", "ann");
    await until("the first answer of the region", async () =>
      (await ask("/regions/eu/api/v1/namespaces/default/pods")).status === 200 ? true : undefined,
    );
  });

  after(async () => {
    for (const one of asking) one.close();
    await Promise.all(running.map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("a user reads what their rights in the region are, and the region's audit names them", async () => {
    const { status, text } = await ask("/regions/eu/api/v1/namespaces/default/pods?limit=5");
    assert.equal(status, 200);
    assert.match(text, /"kind":"PodList"/);
    // Of home's groups system:masters is left out: in the region ann may view, and no more.
    assert.equal((await ask("/regions/eu/api/v1/nodes")).status, 403);
    assert.match((await ask("/regions/eu/version")).text, /gitVersion/);
    const line = await until("a line of the region's audit", async () =>
      readFileSync(auditFile, "utf8")
        .split("\n")
        .find((one) => one.includes(`"impersonatedUser":{"username":"ann"`)),
    );
    assert.match(
      line,
      /"username":"system:serviceaccount:pilothouse-regions:pilothouse-region-reader"/,
    );
    assert.doesNotMatch(line, /"impersonatedUser":[^}]*system:masters/);
  });

  it("nothing but a read of one region by its user gets through", async () => {
    const pods = "/regions/eu/api/v1/namespaces/default/pods";
    const region = await open("eu");
    const accountToken = await region.get<AnyObject>(
      secrets,
      "pilothouse-regions",
      "pilothouse-coordinator-token",
    );
    const { token = "" } = accountToken["data"] as { readonly token?: string };
    const ofRegion = Buffer.from(token, "base64").toString("utf8");
    const upgrade = { connection: "Upgrade", upgrade: "websocket" };
    const websocket = { ...upgrade, "sec-websocket-version": "13", "sec-websocket-key": "AAAA" };
    const cases: readonly (readonly [string, string, Ask, number])[] = [
      ["nobody", pods, { token: "" }, 401],
      ["an unknown token", pods, { token: "made-up" }, 401],
      ["a region's own credential", pods, { token: ofRegion }, 401],
      ["a user without the right at home", pods, { token: "bob-token" }, 403],
      ["a user of a control plane", pods, { token: "root-token" }, 403],
      ["impersonation", pods, { headers: { "impersonate-user": "root" } }, 403],
      ["a group alone", pods, { headers: { "impersonate-group": "system:masters" } }, 403],
      ["a write", pods, { method: "POST" }, 405],
      ["a deletion", `${pods}/a`, { method: "DELETE" }, 405],
      ["an exec", `${pods}/a/exec?command=sh`, { headers: websocket }, 405],
      ["an exec without an upgrade", `${pods}/a/exec?command=sh`, {}, 405],
      ["a proxy of a node", "/regions/eu/api/v1/nodes/n/proxy/pods", {}, 405],
      ["a Secret", "/regions/eu/api/v1/namespaces/default/secrets", {}, 403],
      ["another region that is none", "/regions/us/api/v1/pods", {}, 404],
      ["no region", "/regions/", {}, 404],
      ["a name that is none", "/regions/EU/api/v1/pods", {}, 404],
      ["a way out of the path", "/regions/eu/../../metrics", {}, 400],
      ["an encoded way out", "/regions/eu/%2e%2e/%2e%2e/metrics", {}, 400],
      ["an encoded slash", "/regions/eu/api%2f..%2fapi/v1/pods", {}, 400],
      ["an empty segment", "/regions/eu//api/v1/pods", {}, 400],
      ["a region in the name", "/regions/eu%2fus/api/v1/pods", {}, 403],
    ];
    for (const [what, path, given, wanted] of cases) {
      const { status, text } = await ask(path, given);
      assert.equal(status, wanted, `${what}: ${text}`);
    }
    const claimed = { "x-remote-user": "root", "x-remote-group": "system:masters" };
    assert.equal((await ask("/regions/eu/api/v1/nodes", { headers: claimed })).status, 403);
    const audit = readFileSync(auditFile, "utf8");
    assert.doesNotMatch(audit, /"impersonatedUser":\{"username":"(root|bob|system:kube)/);
  });
});
