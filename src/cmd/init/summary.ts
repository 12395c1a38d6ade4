/** What `pilothouse init` prints: what it wrote, and what to do next. */
import { hostAndPort, type Settings } from "./settings.ts";

interface Outcome {
  /** Of the certificates. */
  readonly until: Date;
  /** The authorities were made by this run. */
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
    ["data/apiserver-N", "what each API server keeps beside etcd"],
  ];
  const table = rows.map(([file, what]) => `  ${file.padEnd(26)}${what}\n`).join("");
  const servers = replicas.map((replica) => hostAndPort(replica)).join(" ");
  const behind = endpoint === undefined ? "" : ` behind ${hostAndPort(endpoint)}`;
  const steps = isNew ? firstSteps(out) : renewedSteps;
  return `${isNew ? "wrote" : "renewed"} ${out}
  API servers ${servers}${behind}, etcd ${etcdServers.join(",")}
${table}next
${steps.map((step, at) => `  ${at + 1}. ${step}\n`).join("")}`;
}

function firstSteps(out: string): readonly string[] {
  return [
    `kubectl --kubeconfig ${out}/kubeconfig/admin.kubeconfig get --raw /readyz`,
    `keep ${out}/pki/ca.key and sa.key as you keep the cluster's data; run the same command before the certificates end`,
  ];
}

const renewedSteps: readonly string[] = [
  "restart the API servers one after the other, each once the one before is ready",
  "restart schedulers and controller managers",
];
