/** Measures the audit of a request at level Metadata: one event (no RequestReceived) and both, to no sink and to a file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { openLineFile } from "#platform/node/line-file.ts";
import type { PlainRequest } from "#platform/http.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { requestInfo } from "../request-info.ts";
import { LogBackend } from "./log-backend.ts";
import { metadataPolicy } from "./policy.ts";
import { factsOf } from "./request-audit.ts";
import { type AuditBackend, AuditTrail } from "./trail.ts";

const rounds = 200;
const requestsAtOnce = 200;
const path = "/api/v1/namespaces/default/pods/web-7d4b9c-x2x4z/status";
const user = {
  name: "system:serviceaccount:kube-system:deployment-controller",
  uid: "b5c2",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const request = {
  method: "PATCH",
  path,
  query: "fieldManager=kubelet",
  headers: { "user-agent": "kubelet/v1.36.3 (linux/amd64) kubernetes/abcdef" },
  peer: { kind: "socket", address: "10.0.0.7" },
} as unknown as PlainRequest; // what the audit reads of one
const info = requestInfo("PATCH", path, new URLSearchParams());
const clock = new NodeClock();

async function measure(what: string, stages: 1 | 2, backend: AuditBackend): Promise<void> {
  const policy = stages === 2 ? { ...metadataPolicy, omitStages: [] } : metadataPolicy;
  const deps = { clock, log: silentLog, metrics: new MetricSet(), policy };
  const trail = new AuditTrail({ ...deps, backends: [backend] });
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: requestsAtOnce }, () => audited(trail)));
    const { user: own, system } = process.cpuUsage(before);
    times.push((own + system) / requestsAtOnce);
  }
  times.sort((a, b) => a - b);
  const median = times[times.length >> 1] ?? 0;
  console.log(`${what}: ${median.toFixed(1)} us of CPU for a request of ${stages} events`);
}

async function audited(trail: AuditTrail): Promise<void> {
  const received = { request, info, auditId: "6d0e9e0a-2a3b", receivedMs: clock.nowMs() };
  const event = trail.begin(user, info, () => factsOf(received, user));
  if (event === undefined) return;
  await trail.received(event);
  event.annotate("authorization.k8s.io/decision", "allow");
  event.annotate("authorization.k8s.io/reason", 'RBAC: allowed by ClusterRoleBinding "x"');
  event.status = { code: 200 };
  await trail.stage(event, "ResponseComplete");
}

const directory = mkdtempSync(join(tmpdir(), "pilothouse-audit-"));
const options = { mode: 0o600, bufferBytesMax: 16 * 2 ** 20, timer: "server.audit" } as const;
const file = await openLineFile(clock, { ...options, path: join(directory, "audit.log") });
const backend = (mode: "batch" | "blocking"): AuditBackend =>
  new LogBackend({ file, log: silentLog }, { mode, format: "json", path: "" });
const nowhere: AuditBackend = { take: (event) => event.json().length > 0 };
for (const stages of [1, 2] as const) {
  await measure("made as text", stages, nowhere);
  await measure("to a file, mode blocking", stages, backend("blocking"));
  await measure("to a file, mode batch", stages, backend("batch"));
}
await file.close();
rmSync(directory, { recursive: true });
