/**
 * SIG Multicluster's own conformance suite (kubernetes-sigs/mcs-api, conformance/) before two planes of ours and a coordinator, but for
 * what needs a pod to run. `PILOTHOUSE_MCS_CONFORMANCE` names its program: `go test -c ./conformance` there.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { apiAccess } from "#cmd/shared/api-access.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type RunningRole, startRole } from "./role-harness.ts";

const program = process.env["PILOTHOUSE_MCS_CONFORMANCE"];
const skip = program === undefined ? "PILOTHOUSE_MCS_CONFORMANCE names no program" : false;
const regions = ["eu", "us"];

void describe("the conformance suite of multi-cluster services", { skip, timeout: 600_000 }, () => {
  const directory = temporaryDirectory("mcs-conformance");
  const file = (name: string): string => join(directory, name, "kubeconfig");
  const running: RunningRole[] = [];

  /** One kubeconfig with a context for each region. */
  async function contexts(): Promise<string> {
    const parts = await Promise.all(
      regions.map(async (name) => {
        const access = await apiAccess({ kubeconfig: file(name), logLevel: "silent" });
        const data = (pem = ""): string => Buffer.from(pem).toString("base64");
        return {
          context: { name, context: { cluster: name, user: name } },
          cluster: {
            name,
            cluster: { server: access.server, "certificate-authority-data": data(access.ca) },
          },
          user: {
            name,
            user: {
              "client-certificate-data": data(access.certificate),
              "client-key-data": data(access.key),
            },
          },
        };
      }),
    );
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "eu",
      contexts: parts.map(({ context }) => context),
      clusters: parts.map(({ cluster }) => cluster),
      users: parts.map(({ user }) => user),
    };
    const path = join(directory, "both.conf");
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  before(async () => {
    const home = ["apiserver", "--data-dir", join(directory, "home"), "--secure-port", "0"];
    const planes = regions.map((name) => {
      const data = ["--data-dir", join(directory, name), "--port", "0"];
      return startRole(["up", ...data, "--nodes", "2"]);
    });
    running.push(...(await Promise.all([startRole(home), ...planes])));
    for (const name of regions) {
      const where = ["--kubeconfig", file(name), "--coordinator", file("home"), "--name", name];
      const { code, stderr } = pilothouse(["region", "join", ...where, "--services"]);
      assert.equal(code, 0, stderr);
    }
    const quiet = ["--leader-elect=false", "--secure-port", "0"];
    running.push(await startRole(["coordinator", "--kubeconfig", file("home"), ...quiet]));
  });

  after(async () => {
    await Promise.all(running.map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("passes, but for what needs a pod to run", async () => {
    const filter = ["-ginkgo.label-filter", "!Connectivity && !DNS", "-ginkgo.no-color"];
    const args = ["-contexts", regions.join(","), ...filter];
    const env = { ...process.env, KUBECONFIG: await contexts() };
    const options = { env, cwd: directory, maxBuffer: 64 * 2 ** 20 };
    const { stdout } = await promisify(execFile)(program ?? "", args, options);
    assert.match(stdout, /\b0 Failed\b/);
  });
});
