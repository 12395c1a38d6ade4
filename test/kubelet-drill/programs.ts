/**
 * The nodes' programs, built from the Go module proxy: kubelet and kube-proxy, containerd, CoreDNS. What is in
 * the folder already is not built again. The first time takes about 20 minutes.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "./shell.ts";

export const kubernetesVersion = "1.36.3";
const containerdVersion = "v2.2.9";
const coreDnsVersion = "v1.14.7";
const buildMsMax = 3_600_000;

const ofContainerd = ["containerd", "containerd-shim-runc-v2", "ctr"];
const ofKubernetes = ["kubelet", "kube-proxy"];

export function isBuilt(bin: string): boolean {
  const names = [...ofContainerd, ...ofKubernetes, "coredns"];
  return names.every((name) => existsSync(join(bin, name)));
}

/** @returns what was built. */
export async function buildPrograms(folder: string): Promise<readonly string[]> {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const absent = (name: string): boolean => !existsSync(join(bin, name));
  const runtime = ofContainerd.filter(absent);
  if (runtime.length > 0) await buildContainerd(folder, bin);
  const kubernetes = ofKubernetes.filter(absent);
  for (const name of kubernetes) await buildKubernetes(folder, name);
  const dns = ["coredns"].filter(absent);
  if (dns.length > 0) await buildCoreDns(folder, bin);
  return [...runtime, ...kubernetes, ...dns];
}

async function buildContainerd(folder: string, bin: string): Promise<void> {
  const from = "github.com/containerd/containerd/v2";
  const commands = ofContainerd.map((name) => `${from}/cmd/${name}`);
  const build = join(folder, "build-containerd");
  const imports = [
    "containerd/command",
    "containerd/builtins",
    "containerd-shim-runc-v2/manager",
    "ctr/app",
  ].map((path) => `${from}/cmd/${path}`);
  makeModule(build, `require ${from} ${containerdVersion}\n`, imports);
  await go(build, ["mod", "tidy", "-e"]);
  const linker = `-s -w -X ${from}/version.Version=${containerdVersion}`;
  const tags = "no_btrfs,no_zfs,no_devmapper,no_tracing";
  await go(build, ["build", "-tags", tags, "-ldflags", linker, "-o", `${bin}/`, ...commands]);
}

/** Also the stock controller manager, where its signing controllers are wanted. */
export async function buildKubernetes(folder: string, name: string): Promise<void> {
  const build = join(folder, "build-kubernetes");
  if (!existsSync(join(build, "go.sum"))) {
    const known = [...ofKubernetes, "kube-controller-manager"];
    const imports = known.map((one) => `k8s.io/kubernetes/cmd/${one}/app`);
    makeModule(build, "", []);
    makeModule(build, await stagedModules(build), imports);
    await go(build, ["mod", "tidy", "-e"]);
  }
  const version = "k8s.io/component-base/version";
  const linker = `-s -w -X ${version}.gitVersion=v${kubernetesVersion} -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`;
  const output = join(folder, "bin", name);
  await go(build, ["build", "-ldflags", linker, "-o", output, `k8s.io/kubernetes/cmd/${name}`]);
}

/** Kubernetes requires its staged modules at v0.0.0, and replaces them by folders that a module has not. */
async function stagedModules(build: string): Promise<string> {
  const kubernetes = `k8s.io/kubernetes@v${kubernetesVersion}`;
  const { GoMod } = JSON.parse(await go(build, ["mod", "download", "-json", kubernetes]));
  const { Require } = JSON.parse(await go(build, ["mod", "edit", "-json", GoMod]));
  const staged = (Require as { Path: string; Version: string }[])
    .filter((one) => one.Version === "v0.0.0")
    .map((one) => one.Path);
  const all = [...staged, "k8s.io/sample-cli-plugin", "k8s.io/sample-controller"];
  const replaced = all.map(
    (path) => `\t${path} => ${path} v${kubernetesVersion.replace("1", "0")}`,
  );
  return `require k8s.io/kubernetes v${kubernetesVersion}\n\nreplace (\n${replaced.join("\n")}\n)\n`;
}

async function buildCoreDns(folder: string, bin: string): Promise<void> {
  const build = join(folder, "build-coredns");
  const from = "github.com/coredns/coredns";
  const plugins = ["reload", "health", "ready", "errors", "log", "cache", "kubernetes"];
  const imported = plugins.map((name) => ` _ "${from}/plugin/${name}"`).join("\n");
  makeModule(build, `require ${from} ${coreDnsVersion}\n`, []);
  writeFileSync(
    join(build, "main.go"),
    `package main\nimport (\n "${from}/core/dnsserver"\n "${from}/coremain"\n${imported}\n)\n` +
      `func init() { dnsserver.Directives = []string{${plugins.map((name) => `"${name}"`).join(", ")}} }\n` +
      `func main() { coremain.Run() }\n`,
  );
  await go(build, ["mod", "tidy", "-e"]);
  await go(build, ["build", "-ldflags", "-s -w", "-o", join(bin, "coredns"), "."]);
}

function makeModule(folder: string, body: string, imports: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "go.mod"), `module drill\n\ngo 1.26.0\n\n${body}`);
  if (imports.length === 0) return;
  const lines = imports.map((path) => ` _ "${path}"`).join("\n");
  writeFileSync(
    join(folder, "tools.go"),
    `//go:build tools\npackage drill\nimport (\n${lines}\n)\n`,
  );
}

function go(cwd: string, args: readonly string[]): Promise<string> {
  const env = { CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" };
  return must("nice", ["-n", "19", "go", ...args], { cwd, env, timeoutMs: buildMsMax });
}
