/** `pilothouse relay --audit-log`, alone and with serving workers: every reader leaves a line. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { KeptEvent } from "#server/audit/testing/kept-audit.ts";
import { fetchWith } from "./fetch-with.ts";
import {
  pilothouse,
  removeDirectory,
  startUp,
  temporaryDirectory,
  type Running,
} from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { startRelay } from "./relay-harness.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

/** A plane that takes anonymous requests for its health only. */
function upArgs(data: string): readonly string[] {
  const anonymous = ["--anonymous-paths", "/healthz,/livez,/readyz"];
  return ["--data-dir", data, "--port", "0", "--nodes", "0", ...anonymous];
}

const servedFrom = "relay.pilothouse.dev/served-from";

void describe("pilothouse relay --audit-log", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("relay-audit");
  const dataDir = join(directory, "data");
  let plane: Running;

  before(async () => {
    plane = await startUp(upArgs(dataDir));
  });
  after(async () => {
    await plane?.kill();
    removeDirectory(directory);
  });

  for (const workers of ["0", "1"]) {
    void it(`keeps who read, what and from where, with ${workers} serving workers`, async () => {
      const file = join(directory, `audit-${workers}.log`);
      const args = ["--resources", "configmaps", "--serving-workers", workers, "--audit-log", file];
      const relay = await startRelay({
        kubeconfig: plane.kubeconfig,
        directory,
        name: `r${workers}`,
        pki: join(dataDir, "pki"),
        args,
      });
      const admin = new KubeHttp(credentialsOf(relay.kubeconfig));
      await admin.request("GET", `${configMaps}?resourceVersion=0`);
      await admin.request("GET", "/api/v1/secrets");
      assert.equal((await fetchWith(relay.url, `/etag${configMaps}`, "")).status, 401);
      assert.equal((await fetchWith(relay.url, "/api/v1/secrets", "")).status, 401);
      admin.close();
      assert.equal(await relay.stop(), 0, relay.output());
      const lines = readFileSync(file, "utf8").trim().split("\n");
      const seen = lines
        .map((line) => JSON.parse(line) as KeptEvent)
        .filter(({ objectRef }) => objectRef !== undefined)
        .map(({ user, verb, objectRef, responseStatus, annotations }) => {
          const { resource } = objectRef ?? {};
          const by = annotations?.[servedFrom];
          return [user.username ?? "-", verb, resource, responseStatus?.code, by].join(" ");
        });
      assert.deepEqual(seen, [
        "kubernetes-admin list configmaps 200 mirror",
        "kubernetes-admin list secrets 200 upstream",
        "- list configmaps 401 refused",
        "- list secrets 401 refused",
      ]);
    });
  }

  void it("is the plane's, of a relay beside it", async () => {
    const file = join(directory, "beside.log");
    const data = join(directory, "beside");
    const args = [...upArgs(data), "--audit-log", file];
    const beside = await startUp([...args, "--relay", "127.0.0.1:0"]);
    const url = /relay\s+(https:\S+)/.exec(beside.output())?.[1] ?? "";
    const { cert, key, ca } = credentialsOf(beside.kubeconfig);
    const admin = new KubeHttp({ server: url, cert, key, ca });
    await admin.request("GET", "/api/v1/nodes?resourceVersion=0");
    admin.close();
    assert.equal((await fetchWith(url, "/api/v1/nodes?resourceVersion=0", "")).status, 401);
    assert.equal(await beside.stop(), 0, beside.output());
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const seen = lines
      .map((line) => JSON.parse(line) as KeptEvent)
      .filter(({ annotations }) => annotations?.[servedFrom] !== undefined)
      .map(({ user, responseStatus, annotations }) =>
        [user.username ?? "-", responseStatus?.code, annotations?.[servedFrom]].join(" "),
      );
    assert.deepEqual(seen, ["kubernetes-admin 200 mirror", "- 401 refused"]);
  });

  void it("refuses to start with a file it cannot write, and says how to go on", () => {
    for (const workers of ["0", "1"]) {
      const result = pilothouse([
        "relay",
        "--upstream",
        plane.kubeconfig,
        "--listen",
        "127.0.0.1:0",
        "--serving-workers",
        workers,
        "--audit-log",
        join(directory, "nowhere", "audit.log"),
      ]);
      assert.equal(result.code, 1, result.stderr);
      assert.match(result.stderr, /cannot write the audit log .*--audit-log/);
    }
  });
});
