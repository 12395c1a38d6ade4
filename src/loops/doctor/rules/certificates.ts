/** Finds certificates that expire soon: the server's own, and those that clients present. */
import { type Evidence, growth } from "../evidence.ts";
import type { Rule, Verdict } from "../rule.ts";

const dayMs = 86_400_000;

export const certificates: Rule = {
  id: "certificate-near-end",
  title: "A certificate is near its end",
  reads: ["serving certificate", "apiserver_client_certificate_expiration_seconds_bucket"],
  threshold: "less than 7 days; less than 1 day pages",
  source: "kubernetes-mixin KubeClientCertificateExpiration",
  alerts: [
    {
      query: `sum(rate(apiserver_client_certificate_expiration_seconds_bucket{le="604800"}[5m]))`,
      above: 0,
      severity: "warn",
    },
    {
      query: `sum(rate(apiserver_client_certificate_expiration_seconds_bucket{le="86400"}[5m]))`,
      above: 0,
      severity: "page",
    },
  ],
  judge: (evidence) => [...serving(evidence), ...clients(evidence)],
};

function serving({ nowMs, servingCertificateEndMs }: Evidence): readonly Verdict[] {
  if (servingCertificateEndMs === undefined) return [];
  const leftMs = servingCertificateEndMs - nowMs;
  if (leftMs >= 7 * dayMs) return [];
  const end = new Date(servingCertificateEndMs).toISOString();
  return [
    {
      sentence: `the serving certificate of the API server ${leftMs < 0 ? "ended" : "ends"} at ${end}`,
      culprit: "serving certificate of the API server",
      severity: leftMs < dayMs ? "page" : "warn",
      figures: { hoursLeft: Math.floor(leftMs / 3_600_000) },
      remedy:
        "kubeadm certs renew apiserver, or replace --tls-cert-file; then see that the server shows it",
      certainty: 1,
    },
  ];
}

/** Reads a histogram that counts requests by the remaining lifetime of the client's certificate. */
function clients(evidence: Evidence): readonly Verdict[] {
  const name = "apiserver_client_certificate_expiration_seconds_bucket";
  let worst: { readonly seconds: number; readonly requests: number } | undefined;
  for (const [le, requests] of growth(evidence, name, ["le"])) {
    const seconds = Number(le);
    // `le` of the last bucket is +Inf, which `Number` reads as NaN. That bucket has no bound.
    if (!(seconds <= 7 * 86_400) || !(requests > 0)) continue;
    if (worst === undefined || seconds < worst.seconds) worst = { seconds, requests };
  }
  if (worst === undefined) return [];
  const hours = Math.ceil(worst.seconds / 3_600);
  return [
    {
      sentence: `a client shows a certificate that ends within ${hours} hours`,
      culprit: "a client with a certificate",
      severity: worst.seconds <= 86_400 ? "page" : "warn",
      figures: { requests: worst.requests, hoursLeftAtMost: hours },
      remedy:
        "kubeadm certs check-expiration on control plane nodes; kubectl get csr for kubelets that wait",
      certainty: 0.8,
      unseen: "which client: the metric has no user; an audit log does",
    },
  ];
}
