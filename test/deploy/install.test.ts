/**
 * The manifests and the chart on a live API server: every object is taken under strict validation, Deployments become
 * available, a relay started as its Deployment says, as its service account, gets ready and answers; and what
 * lies in deploy/kustomize is what the chart makes.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chart, renderBases } from "../../deploy/render.ts";
import { fetchWith } from "../process/fetch-with.ts";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  root,
  type Running,
  startUp,
  temporaryDirectory,
} from "../process/harness.ts";
import { credentialsOf } from "../process/kube-http.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { startRelay } from "../process/relay-harness.ts";

const kubectl = findKubectl();
const helm = findPeer("helm");

describe("deploy/", { skip: kubectl === undefined && noKubectl }, () => {
  let plane: Running;
  let directory: string;
  let environment: NodeJS.ProcessEnv;
  const call = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, { env: environment, encoding: "utf8" });
  const ctl = (...args: readonly string[]): string => call(kubectl ?? "", ...args);
  const data = (...path: readonly string[]): string => join(directory, "data", ...path);

  before(async () => {
    directory = temporaryDirectory("deploy");
    plane = await startUp(["--data-dir", data(), "--port", "0", "--nodes", "3"]);
    environment = kubectlEnvironment(plane.kubeconfig, directory);
    ctl("create", "namespace", "pilothouse");
    ctl("label", "namespace", "pilothouse", "pod-security.kubernetes.io/enforce=restricted");
  });

  after(async () => {
    await plane.kill();
    removeDirectory(directory);
  });

  const secretOf = (name: string): void => {
    const { crt, key } = { crt: data("pki", "apiserver.crt"), key: data("pki", "apiserver.key") };
    ctl("-n", "pilothouse", "create", "secret", "tls", name, `--cert=${crt}`, `--key=${key}`);
  };

  test("the kustomize bases are taken under strict validation, and their Pods by Pod Security's level restricted", () => {
    secretOf("pilothouse-relay-tls");
    for (const part of ["relay", "sink", "doctor"]) {
      ctl("apply", "--validate=strict", "-k", join(root, "deploy", "kustomize", part));
    }
    for (const part of ["relay", "sink"]) {
      const name = `deployment/pilothouse-${part}`;
      ctl("-n", "pilothouse", "wait", name, "--for=condition=Available", "--timeout=120s");
    }
    const pods = ctl("-n", "pilothouse", "get", "pods", "-o", "name").trim().split("\n");
    assert.equal(pods.length, 4);
  });

  test("a relay with the flags of its Deployment gets ready as its service account, and answers others by their rights", async () => {
    const path = "{.spec.template.spec.containers[0].args}";
    const deployed = ["-n", "pilothouse", "get", "deployment", "pilothouse-relay"];
    const args = JSON.parse(ctl(...deployed, "-o", `jsonpath=${path}`)) as readonly string[];
    const token = join(directory, "token");
    const own = ctl("-n", "pilothouse", "create", "token", "pilothouse-relay");
    writeFileSync(token, own, { mode: 0o600 });
    const { server } = credentialsOf(plane.kubeconfig);
    const upstream = ["--upstream", server, "--upstream-ca", data("pki", "ca.crt")];
    const isPlace = (flag: string): boolean => /^(relay$|--(listen|cert|key|drain)\b)/.test(flag);
    const relay = await startRelay({
      kubeconfig: plane.kubeconfig,
      access: [...upstream, "--upstream-token-file", token],
      directory,
      name: "deployed",
      pki: data("pki"),
      args: args.filter((flag) => !isPlace(flag)),
    });
    try {
      const page = await fetchWith(relay.url, "/relay/readyz", "");
      assert.equal(page.status, 200);
      const services = await fetchWith(relay.url, "/api/v1/services", own.trim());
      assert.equal(services.status, 200, "what it mirrors it may read");
      const secrets = await fetchWith(relay.url, "/api/v1/secrets", own.trim());
      assert.equal(secrets.status, 403);
      const names = ctl("--kubeconfig", relay.kubeconfig, "get", "services", "-A", "-o", "name");
      assert.match(names, /service\/pilothouse-relay/);
    } finally {
      await relay.kill();
    }
  });

  describe("the chart", { skip: helm === undefined && noPeer("helm") }, () => {
    const withHelm = (...args: readonly string[]): string => call(helm ?? "", ...args);

    test("is well-formed, refuses values that it does not know, and makes what lies in deploy/kustomize", () => {
      assert.match(withHelm("lint", chart), /0 chart\(s\) failed/);
      const wrong = ["template", "x", chart, "--set", "relay.replica=3"];
      assert.throws(() => withHelm(...wrong), /replica/);
      for (const [path, text] of renderBases(helm ?? "")) {
        const there = readFileSync(join(root, "deploy", "kustomize", path), "utf8");
        assert.equal(there, text, `${path}: node deploy/render.ts brings it up to date`);
      }
    });

    test("installs, keeps its certificate over an upgrade, and leaves nothing behind", () => {
      const place = ["--namespace", "edge", "--create-namespace", "--wait", "--timeout", "3m"];
      const more = ["--set", "doctor.enabled=true,relay.autoscaling.enabled=true"];
      withHelm("install", "edge", chart, ...place, ...more);
      const path = "jsonpath={.data.tls\\.crt}";
      const secret = ["-n", "edge", "get", "secret", "edge-pilothouse-relay-tls", "-o", path];
      const certificate = ctl(...secret);
      withHelm("upgrade", "edge", chart, ...place, ...more, "--set", "relay.drainSeconds=5");
      assert.equal(ctl(...secret), certificate);
      withHelm("uninstall", "edge", "--namespace", "edge", "--wait");
      const selected = ["-n", "edge", "-l", "app.kubernetes.io/instance=edge"];
      ctl("wait", "pods", ...selected, "--for=delete", "--timeout=120s");
      const kinds = "all,secrets,roles,clusterroles,clusterrolebindings,networkpolicies,pdb,hpa";
      const left = ctl("get", kinds, "-A", "-l", "app.kubernetes.io/instance=edge", "-o", "name");
      assert.equal(left.trim(), "");
    });
  });
});
