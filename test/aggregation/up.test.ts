/** `pilothouse up` as a front proxy: its flags, and the certificate of its data directory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import {
  removeDirectory,
  root,
  type Running,
  startUp,
  temporaryDirectory,
} from "../process/harness.ts";
import { apiService, apiServices, type Json, text, until } from "./aggregated-plane.ts";
import { type HostileRemote, startHostileRemote } from "./hostile-remote.ts";

describe("up", () => {
  const scratch = temporaryDirectory("front-proxy");
  let up: Running;
  let remote: HostileRemote;

  before(async () => {
    remote = await startHostileRemote("api", "default");
    const where = ["--data-dir", scratch, "--port", "0", "--nodes", "0"];
    up = await startUp([...where, "--enable-aggregator-routing", "false"]);
  });

  after(async () => {
    await up.stop();
    await remote.close();
    removeDirectory(scratch);
  });

  async function ask(method: string, path: string, body?: object): Promise<Json> {
    const config = new KubeConfig();
    config.loadFromFile(up.kubeconfig);
    const options: https.RequestOptions = {
      method,
      headers: { "content-type": "application/json" },
    };
    await config.applyToHTTPSOptions(options);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const call = https.request(up.url + path, options, (response) => {
      let got = "";
      response.on("data", (chunk: Buffer) => (got += chunk.toString()));
      response.on("end", () => resolve(got));
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
    // Rejects for the text of a proxy whose server is not there yet.
    return JSON.parse(await promise) as Json;
  }

  test("with --enable-aggregator-routing false leads to an external name, showing the data directory's certificate", async () => {
    const metadata = { name: "api", namespace: "default" };
    const spec = { type: "ExternalName", externalName: "localhost" };
    await ask("POST", "/api/v1/namespaces/default/services", { metadata, spec });
    const service = { name: "api", namespace: "default", port: remote.port };
    const named = { group: "front.example.com", version: "v1" };
    await ask("POST", apiServices, apiService({ ...named, service, ca: remote.ca }));
    const list = await until(async () => {
      const { kind } = await ask("GET", `${apiServices}/v1.front.example.com`);
      assert.equal(text(kind), "APIService");
      const answer = await ask("GET", "/apis/front.example.com/v1").catch(() => undefined);
      return text(answer?.["kind"]) === "APIResourceList" ? answer : undefined;
    }, "it was never available");
    assert.equal(list["groupVersion"], "front.example.com/v1");
    assert.deepEqual([...remote.proxies], ["front-proxy-client"]);
    assert.equal(statSync(join(scratch, "pki", "front-proxy-client.key")).mode & 0o777, 0o600);
  });

  test("publishes what delegates trust the front proxy by", async () => {
    const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    const { data } = await ask("GET", path);
    const ca = readFileSync(join(scratch, "pki", "front-proxy-ca.crt"), "utf8");
    assert.equal(data?.["requestheader-client-ca-file"], ca);
    assert.equal(data?.["requestheader-allowed-names"], '["front-proxy-client"]');
    assert.equal(data?.["requestheader-username-headers"], '["X-Remote-User"]');
  });

  test("refuses half of a certificate, files that hold none, and routing that is neither", () => {
    const launcher = join(root, "bin", "pilothouse.mjs");
    const refusal = (...args: readonly string[]): string =>
      spawnSync(process.execPath, [launcher, "up", ...args], { encoding: "utf8" }).stderr;
    const file = join(root, "package.json");
    assert.match(refusal("--proxy-client-cert-file", file), /give --proxy-client-cert-file and/);
    assert.match(
      refusal("--proxy-client-cert-file", file, "--proxy-client-key-file", file),
      /--proxy-client-cert-file or --proxy-client-key-file: /,
    );
    assert.match(refusal("--enable-aggregator-routing", "yes"), /true or false/);
  });
});
