/** Finds leaders that stopped: a held lease was not renewed for longer than its duration. */
import type { SeenObject } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

/** Time beyond the duration of a lease, 15 s in leader election. The clocks of two machines differ by less than this. */
const graceMs = 30_000;

export const leaders: Rule = {
  id: "leader-stuck",
  title: "A leader does not renew its lease",
  reads: ["leases"],
  threshold: "a held lease in kube-system is past its duration by more than 30 s",
  source: "client-go leader election: lease 15 s, renewal every 2 s",
  judge: ({ nowMs, objects }) => objects.leases.flatMap((lease) => verdictsOf(lease, nowMs)),
};

function verdictsOf(lease: SeenObject, nowMs: number): readonly Verdict[] {
  const holder = lease.spec?.["holderIdentity"];
  const durationMs = Number(lease.spec?.["leaseDurationSeconds"]) * 1_000;
  const silentMs = nowMs - Date.parse(String(lease.spec?.["renewTime"]));
  const { name } = lease.metadata;
  // Skips the identity leases of API servers. The lease of a stopped server is deleted an hour later.
  if (name.startsWith("apiserver-")) return [];
  if (typeof holder !== "string" || holder === "" || !(silentMs > durationMs + graceMs)) return [];
  const seconds = Math.floor(silentMs / 1_000);
  return [
    {
      sentence: `${name} has no working leader: ${holder} renewed its lease ${seconds} s ago, and nobody took it over`,
      culprit: `${name}, held by ${holder}`,
      severity: "page",
      figures: { silentSeconds: seconds, leaseSeconds: durationMs / 1_000 },
      remedy: `start it again: kubectl -n kube-system get pods | grep ${quoted(name)}`,
      certainty: 0.9,
      unseen: "the process itself: whether it runs, or its clock is wrong",
    },
  ];
}
