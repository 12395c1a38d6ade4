/**
 * `pilothouse init`: writes what it takes to run the roles as processes of their own, into one directory.
 *
 *     DIR/init.json      marks the directory, and holds what it was made for
 *     DIR/pki/           authorities, keys and certificates
 *     DIR/kubeconfig/    one file for each user and replica, 0600
 *     DIR/data/          what each API server keeps beside etcd
 *     DIR/systemd/, DIR/compose.yaml, DIR/manifests/   three ways to run the commands of role-commands.ts
 *
 * Holds  authorities and the key of service account tokens are made once; every other certificate is made anew at
 *        each run, which is how certificates are rotated. Nothing is written to a directory that holds anything else.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PkiError, renewReplicatedPki, type ReplicatedPki } from "#auth/pki-files.ts";
import { must } from "#base/assert.ts";
import type { Host } from "../shared/host.ts";
import { kubeAdmin, writeKubeconfig } from "../shared/kubeconfig-file.ts";
import { serviceAddress } from "../shared/limits.ts";
import { nodeHost } from "../shared/node-host.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";
import { composeText, podText } from "./containers.ts";
import { roleCommands } from "./role-commands.ts";
import { summary } from "./summary.ts";
import {
  hostAndPort,
  type InitFlags,
  plainPath,
  type Settings,
  settingsOf,
  settingsPath,
  settingsText,
} from "./settings.ts";
import { unitText } from "./systemd.ts";

export async function init(flags: InitFlags): Promise<void> {
  const out = plainPath(flags.out, "--out");
  const etcdFiles = readEtcdFiles(flags);
  const settings = await settingsOf({ ...flags, out });
  if (existsSync(settingsPath(out))) checkKept(out);
  try {
    process.stdout.write(writeAll(out, settings, etcdFiles));
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UsageError(`cannot write to --out ${out}: ${error.message}`, { cause: error });
  }
}

/** @returns a summary of the work for the operator. */
function writeAll(out: string, settings: Settings, etcdFiles: EtcdFiles): string {
  mkdirSync(out, { recursive: true, mode: 0o700 });
  writeWhole(settingsPath(out), settingsText(settings), 0o600);
  const pki = makePki(nodeHost({ logLevel: "warn" }), out, settings);
  for (const [name, text] of etcdFiles) {
    writeWhole(join(out, "pki", name), text, name.endsWith(".key") ? 0o600 : 0o644);
  }
  writeKubeconfigs(out, settings, pki);
  writeCommands(out, settings);
  const until = new X509Certificate(pki.admin.certificate).validToDate;
  return summary(out, settings, { until, isNew: pki.written.includes("ca.crt") });
}

/** Checks the files that are made only once. New ones would invalidate every certificate and every token of the cluster. */
function checkKept(out: string): void {
  for (const file of ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"]) {
    const path = join(out, "pki", file);
    if (existsSync(path)) continue;
    throw new UsageError(
      `${path} is missing: put it back from a backup; for a new cluster give another --out`,
    );
  }
}

/** etcd's credentials, by their file names in DIR/pki. */
type EtcdFiles = readonly (readonly [name: string, text: string])[];

function readEtcdFiles(flags: InitFlags): EtcdFiles {
  const files = [
    ["etcd-ca.crt", flags.etcdCafile],
    ["etcd-client.crt", flags.etcdCertfile],
    ["etcd-client.key", flags.etcdKeyfile],
  ] as const;
  return files.flatMap(([name, path]) =>
    path === undefined ? [] : [[name, readOperatorFile(path)] as const],
  );
}

function makePki(host: Host, out: string, { replicas, endpoint }: Settings): ReplicatedPki {
  const shared = endpoint === undefined ? [] : [endpoint.host];
  const hosts = replicas.map((replica) => [replica.host, ...shared]);
  try {
    return renewReplicatedPki(join(out, "pki"), { ...host, hosts, serviceAddress });
  } catch (error) {
    if (error instanceof PkiError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Writes the kubeconfigs. Each scheduler and controller manager uses its own replica, and an administrator any one. */
function writeKubeconfigs(out: string, { replicas, endpoint }: Settings, pki: ReplicatedPki): void {
  const folder = join(out, "kubeconfig");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const write = (file: string, server: string, user: Parameters<typeof writeKubeconfig>[3]): void =>
    writeKubeconfig(join(folder, `${file}.kubeconfig`), server, pki, user);
  for (const [at, replica] of replicas.entries()) {
    const server = `https://${hostAndPort(replica)}`;
    const { scheduler, controllerManager } = pki;
    write(`admin-${at}`, server, kubeAdmin(pki));
    write(`scheduler-${at}`, server, { name: "system:kube-scheduler", certificate: scheduler });
    write(`controller-manager-${at}`, server, {
      name: "system:kube-controller-manager",
      certificate: controllerManager,
    });
  }
  const [first] = replicas;
  const any = endpoint ?? first;
  if (any !== undefined) write("admin", `https://${hostAndPort(any)}`, kubeAdmin(pki));
}

function writeCommands(out: string, settings: Settings): void {
  const has = (file: string): boolean => existsSync(join(out, "pki", file));
  const etcd = { authority: has("etcd-ca.crt"), client: has("etcd-client.crt") };
  const commands = roleCommands(out, settings, etcd);
  for (const { path } of commands.flatMap(({ writes }) => writes))
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, gid } = statSync(out);
  const unit = { words: programWords(), ...(uid === 0 ? {} : { uid }) };
  for (const folder of ["systemd", "manifests"]) mkdirSync(join(out, folder), { recursive: true });
  for (const command of commands) {
    const file = `pilothouse-${command.name}`;
    writeWhole(join(out, "systemd", `${file}.service`), unitText(command, unit), 0o644);
    writeWhole(join(out, "manifests", `${file}.yaml`), podText(command, { uid, gid }), 0o644);
  }
  const { bringsEtcd } = settings;
  writeWhole(join(out, "compose.yaml"), composeText(commands, { bringsEtcd, uid, gid }), 0o644);
}

/** The paths of the running Node.js and of this launcher. */
function programWords(): readonly string[] {
  const launcher = realpathSync(must(process.argv[1], "Node was given a program"));
  return [plainPath(process.execPath, "Node is"), plainPath(launcher, "pilothouse is")];
}

function writeWhole(path: string, text: string, mode: number): void {
  const next = `${path}.new`;
  writeFileSync(next, text, { mode });
  renameSync(next, path);
}
