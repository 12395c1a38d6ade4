/**
 * The commands as containers: a Compose file for one host, and a static Pod for each command. Both mount what a
 * command reads and writes at its own path, on the host's network.
 */
import { stringify } from "yaml";
import { productVersion } from "../shared/product.ts";
import type { Mount, RoleCommand } from "./role-commands.ts";

interface Owner {
  /** User ID of DIR's owner. */
  readonly uid: number;
  readonly gid: number;
}

/** Quotes strings that YAML 1.1 would read as a number or a boolean. */
const yaml = { lineWidth: 0, version: "1.1" } as const;
const head = "# Written by pilothouse init: run it again instead of changing this file.\n";
const image = `pilothouse:${productVersion}`;
const etcdImage = "pilothouse-etcd";
const etcdAt = "http://127.0.0.1:2379";

interface ComposeOptions extends Owner {
  readonly bringsEtcd: boolean;
}

export function composeText(
  commands: readonly RoleCommand[],
  { bringsEtcd, uid, gid }: ComposeOptions,
): string {
  const services = commands.map((command) => [
    command.name,
    {
      image,
      command: command.words,
      network_mode: "host",
      user: `${uid}:${gid}`,
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      restart: "always",
      ...(bringsEtcd ? { depends_on: ["etcd"] } : {}),
      volumes: [
        ...command.reads.map((mount) => bind(mount, true)),
        ...command.writes.map((mount) => bind(mount, false)),
      ],
    },
  ]);
  const etcd = bringsEtcd ? { etcd: etcdService } : {};
  return (
    head +
    stringify(
      {
        name: "pilothouse",
        services: { ...etcd, ...Object.fromEntries(services) },
        ...(bringsEtcd ? { volumes: { etcd: {} } } : {}),
      },
      yaml,
    )
  );
}

/** An etcd with one member, for one host. */
const etcdService = {
  image: etcdImage,
  command: [
    "--data-dir=/var/lib/etcd/data",
    `--listen-client-urls=${etcdAt}`,
    `--advertise-client-urls=${etcdAt}`,
    "--listen-peer-urls=http://127.0.0.1:2380",
  ],
  network_mode: "host",
  restart: "always",
  volumes: [{ type: "volume", source: "etcd", target: "/var/lib/etcd" }],
};

/** Returns a bind mount that creates nothing where its source is missing. */
function bind({ path }: Mount, isReadOnly: boolean): object {
  return {
    type: "bind",
    source: path,
    target: path,
    read_only: isReadOnly,
    bind: { create_host_path: false },
  };
}

/** Returns a static Pod, which a kubelet runs without an API server. */
export function podText(command: RoleCommand, { uid, gid }: Owner): string {
  const reads = command.reads.map((mount) => ({ ...mount, readOnly: true }));
  const mounts = [...reads, ...command.writes.map((mount) => ({ ...mount, readOnly: false }))];
  const volumes = mounts.map(({ path, isFile }, at) => ({
    name: `mount-${at}`,
    hostPath: { path, type: isFile ? "File" : "Directory" },
  }));
  const volumeMounts = mounts.map(({ path, readOnly }, at) => ({
    name: `mount-${at}`,
    mountPath: path,
    readOnly,
  }));
  const name = `pilothouse-${command.name}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "kube-system", labels: { "app.kubernetes.io/name": name } },
    spec: {
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      securityContext: { runAsUser: uid, runAsGroup: gid },
      containers: [{ ...container(command), volumeMounts }],
      volumes,
    },
  };
  return head + stringify(pod, yaml);
}

function container({ words, health }: RoleCommand): object {
  const [role] = words;
  const probe = (path: string): object => ({
    httpGet: { scheme: "HTTPS", host: health.host, port: health.port, path },
    periodSeconds: 10,
    timeoutSeconds: 15,
  });
  return {
    name: role,
    image,
    imagePullPolicy: "IfNotPresent",
    args: words,
    startupProbe: { ...probe("/livez"), failureThreshold: 24 },
    livenessProbe: { ...probe("/livez"), failureThreshold: 8 },
    readinessProbe: { ...probe("/readyz"), failureThreshold: 3 },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}
