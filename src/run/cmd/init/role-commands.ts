/**
 * The one model of what runs: each role's command line, the files it reads, and where its health is asked. Units,
 * Compose file and manifests are three renderings of it, so they cannot disagree.
 *
 * Holds  DIR has the same path everywhere and all use the host's network, so a flag means the same in a unit and in
 *        a container; each word needs no quotes (settings.ts).
 */
import { isIP } from "node:net";
import { join } from "node:path";
import {
  type Address,
  hostAndPort,
  isLoopbackAddress,
  machineOf,
  type Settings,
} from "./settings.ts";

export interface RoleCommand {
  /** Name of the process, such as `apiserver-0`. */
  readonly name: string;
  readonly description: string;
  /** Arguments after `pilothouse`. */
  readonly words: readonly string[];
  readonly reads: readonly Mount[];
  readonly writes: readonly Mount[];
  /** HTTPS address of /livez and /readyz. */
  readonly health: Address;
}

export interface Mount {
  readonly path: string;
  readonly isFile: boolean;
}

export function roleCommands(
  out: string,
  settings: Settings,
  etcd: EtcdCredentials,
): RoleCommand[] {
  return settings.replicas.flatMap((replica, index) => {
    const place = { out, index, health: healthPort(settings, index) };
    return [
      apiServer(place, replica, { settings, etcd }),
      controllerManager(place),
      scheduler(place),
    ];
  });
}

/** Whether DIR/pki/etcd-ca.crt and etcd-client.{crt,key} exist. */
interface EtcdCredentials {
  readonly authority: boolean;
  readonly client: boolean;
}

interface Place {
  readonly out: string;
  readonly index: number;
  readonly health: number;
}

function apiServer(
  { out, index }: Place,
  replica: Address,
  { settings, etcd }: { readonly settings: Settings; readonly etcd: EtcdCredentials },
): RoleCommand {
  const name = `apiserver-${index}`;
  const pki = (file: string): string => join(out, "pki", file);
  const data = join(out, "data", name);
  return {
    name,
    description: `Pilothouse API server, replica ${index}, ${hostAndPort(replica)}`,
    words: [
      "apiserver",
      `--data-dir=${data}`,
      `--etcd-servers=${settings.etcdServers.join(",")}`,
      ...(etcd.authority ? [`--etcd-cafile=${pki("etcd-ca.crt")}`] : []),
      ...(etcd.client
        ? [`--etcd-certfile=${pki("etcd-client.crt")}`, `--etcd-keyfile=${pki("etcd-client.key")}`]
        : []),
      ...listenFlags(replica),
      `--tls-cert-file=${pki(`${name}.crt`)}`,
      `--tls-private-key-file=${pki(`${name}.key`)}`,
      `--client-ca-file=${pki("ca.crt")}`,
      `--service-account-signing-key-file=${pki("sa.key")}`,
      `--service-account-key-file=${pki("sa.pub")}`,
      `--kubelet-client-certificate=${pki("apiserver-kubelet-client.crt")}`,
      `--kubelet-client-key=${pki("apiserver-kubelet-client.key")}`,
      `--proxy-client-cert-file=${pki("front-proxy-client.crt")}`,
      `--proxy-client-key-file=${pki("front-proxy-client.key")}`,
      `--requestheader-client-ca-file=${pki("front-proxy-ca.crt")}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    ],
    reads: [{ path: join(out, "pki"), isFile: false }],
    writes: [{ path: data, isFile: false }],
    health: isIP(replica.host) === 0 ? { ...replica, host: "127.0.0.1" } : replica,
  };
}

/** Binds every address for a host name, because a name may stand for any of the host's addresses. */
function listenFlags({ host, port }: Address): readonly string[] {
  const isAddress = isIP(host) !== 0;
  return [
    `--bind-address=${isAddress ? host : "0.0.0.0"}`,
    `--secure-port=${port}`,
    ...(isAddress && !isLoopbackAddress(host) ? [`--advertise-address=${host}`] : []),
  ];
}

function controllerManager(place: Place): RoleCommand {
  const { out } = place;
  const pki = (file: string): string => join(out, "pki", file);
  return clientRole(place, "controller-manager", place.health, {
    title: "controller manager",
    words: [
      "--use-service-account-credentials=true",
      `--root-ca-file=${pki("ca.crt")}`,
      `--service-account-private-key-file=${pki("sa.key")}`,
      `--cluster-signing-cert-file=${pki("ca.crt")}`,
      `--cluster-signing-key-file=${pki("ca.key")}`,
    ],
    reads: [{ path: join(out, "pki"), isFile: false }],
  });
}

function scheduler(place: Place): RoleCommand {
  return clientRole(place, "scheduler", place.health + 2, {
    title: "scheduler",
    words: [],
    reads: [],
  });
}

/** Returns the command of a role that elects a leader and calls the API replica beside it. */
function clientRole(
  { out, index }: Place,
  role: string,
  port: number,
  own: Pick<RoleCommand, "words" | "reads"> & { readonly title: string },
): RoleCommand {
  const name = `${role}-${index}`;
  const kubeconfig = join(out, "kubeconfig", `${name}.kubeconfig`);
  const health = { host: "127.0.0.1", port };
  return {
    name,
    description: `Pilothouse ${own.title} beside API server ${index}`,
    words: [
      role,
      `--kubeconfig=${kubeconfig}`,
      ...own.words,
      `--bind-address=${health.host}`,
      `--secure-port=${port}`,
    ],
    reads: [...own.reads, { path: kubeconfig, isFile: true }],
    writes: [],
    health,
  };
}

/** Health ports of replicas on the same host are ten apart. */
function healthPort({ replicas, healthPort: first }: Settings, index: number): number {
  const machines = replicas.map(({ host }) => machineOf(host));
  return first + 10 * machines.slice(0, index).filter((one) => one === machines[index]).length;
}
