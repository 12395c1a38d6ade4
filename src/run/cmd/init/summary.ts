/** The output of `pilothouse init`: the written files and the next steps. */
import { hostAndPort, type Settings } from "./settings.ts";

interface Outcome {
  /** Expiry of the certificates. */
  readonly until: Date;
  /** Whether this run made the certificate authorities. */
  readonly isNew: boolean;
}

export function summary(out: string, settings: Settings, { until, isNew }: Outcome): string {
  const { replicas, etcdServers, endpoint } = settings;
  const day = until.toISOString().slice(0, 10);
  const rows: readonly (readonly [string, string])[] = [
    ["pki/ca.crt ca.key", isNew ? "authority of servers and clients" : "authority, kept"],
    [
      "pki/sa.key sa.pub",
      isNew ? "signs service account tokens" : "signs service account tokens, kept",
    ],
    ["pki/*.crt *.key", `certificates until ${day}, ${isNew ? "new" : "renewed"}`],
    [
      "kubeconfig/*.kubeconfig",
      "administrator, schedulers, controller managers; renewed with them",
    ],
    ["data/apiserver-N/", "what each API server keeps beside etcd"],
    ["systemd/*.service", "a unit for each API server, scheduler and controller manager"],
    ["manifests/*.yaml", "the same as static Pods"],
    [
      "compose.yaml",
      settings.bringsEtcd ? "the same as containers, and an etcd" : "the same as containers",
    ],
  ];
  const table = rows.map(([file, what]) => `  ${file.padEnd(26)}${what}\n`).join("");
  const servers = replicas.map((replica) => hostAndPort(replica)).join(" ");
  const behind = endpoint === undefined ? "" : ` behind ${hostAndPort(endpoint)}`;
  const steps = isNew ? firstSteps(out, replicas.length) : renewedSteps;
  return `${isNew ? "wrote" : "renewed"} ${out}
  API servers ${servers}${behind}, etcd ${etcdServers.join(",")}
${table}next
${steps.map((step) => `  ${step}\n`).join("")}`;
}

function firstSteps(out: string, count: number): readonly string[] {
  const own =
    count > 1
      ? "; on several hosts: copy the directory to each, run there what ends in its number"
      : "";
  return [
    `systemctl enable --now ${out}/systemd/*.service, or`,
    `docker compose -f ${out}/compose.yaml up -d, or`,
    `cp ${out}/manifests/*.yaml to the static Pods of a kubelet${own}`,
    `kubectl --kubeconfig ${out}/kubeconfig/admin.kubeconfig get --raw /readyz`,
    "docs/operations.md: upgrades, renewal, what to back up",
  ];
}

const renewedSteps: readonly string[] = [
  "systemctl daemon-reload, where units run;",
  "restart the API servers one after the other, each once the one before is ready,",
  "then schedulers and controller managers",
];
