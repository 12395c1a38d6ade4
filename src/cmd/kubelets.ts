/** The way to kubelets, pods and Services: transports, limits, and the certificate this server shows. */
import { createSecureContext } from "node:tls";
import type { Kubelets } from "#apiserver/kubelet/deps.ts";
import { kubeletDefaults } from "#apiserver/kubelet/deps.ts";
import { OpenStreams } from "#apiserver/kubelet/open-streams.ts";
import { groups } from "#auth/groups.ts";
import type { Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import type { Clock } from "#platform/clock.ts";
import { hostsTransport } from "#platform/node/http/http-hosts.ts";
import type { Random } from "#platform/random.ts";
import { parseGoDuration } from "#api/go-duration.ts";
import * as limits from "./limits.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

export interface KubeletFlags {
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletPreferredAddressTypes?: string;
  readonly kubeletTimeout?: string;
}

export interface KubeletAccess {
  /** PEM. Absent: the certificates of kubelets are not checked, as upstream. */
  readonly authority?: string;
  /** Absent: one that the cluster's authority issues at the start. */
  readonly client?: IssuedCertificate;
  readonly addressTypes?: readonly string[];
  /** Until a connection to a kubelet stands. */
  readonly timeoutMs?: number;
}

const addressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/** @throws UsageError for a file or value that cannot be used. */
export function kubeletAccess(flags: KubeletFlags): KubeletAccess {
  const { kubeletCertificateAuthority: ca, kubeletClientCertificate: certificate } = flags;
  const { kubeletClientKey: key, kubeletPreferredAddressTypes: types } = flags;
  if ((certificate === undefined) !== (key === undefined))
    throw new UsageError("give --kubelet-client-certificate and --kubelet-client-key, or neither");
  const client =
    certificate === undefined || key === undefined
      ? undefined
      : { certificate: readOperatorFile(certificate), privateKey: readOperatorFile(key) };
  const authority = ca === undefined ? undefined : readOperatorFile(ca);
  checkPem(authority, client);
  return {
    ...(authority === undefined ? {} : { authority }),
    ...(client === undefined ? {} : { client }),
    ...(types === undefined ? {} : { addressTypes: typesOf(types) }),
    timeoutMs: timeoutOf(flags.kubeletTimeout ?? "5s"),
  };
}

/** At the start: otherwise each connection would fail, one by one. */
function checkPem(ca: string | undefined, client: IssuedCertificate | undefined): void {
  try {
    const pair = client === undefined ? {} : { cert: client.certificate, key: client.privateKey };
    createSecureContext({ ...(ca === undefined ? {} : { ca }), ...pair });
  } catch (error) {
    const text = `--kubelet-certificate-authority, --kubelet-client-certificate or --kubelet-client-key: ${(error as Error).message}`;
    throw new UsageError(text, { cause: error });
  }
}

function typesOf(text: string): readonly string[] {
  const types = text.split(",").map((type) => type.trim());
  const unknown = types.find((type) => !addressTypes.includes(type));
  if (unknown === undefined) return types;
  throw new UsageError(
    `--kubelet-preferred-address-types: ${JSON.stringify(unknown)} is none of ${addressTypes.join(", ")}`,
  );
}

function timeoutOf(text: string): number {
  const timeoutMs = parseGoDuration(text);
  if (timeoutMs !== undefined && timeoutMs >= 1 && timeoutMs <= 3_600_000) return timeoutMs;
  throw new UsageError(`--kubelet-timeout: ${JSON.stringify(text)} is no duration as 5s, up to 1h`);
}

export interface OpenedKubelets {
  readonly kubelets: Kubelets;
  /** Ends idle connections. */
  close(): void;
}

export function openKubelets(
  host: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
  access: KubeletAccess,
): OpenedKubelets {
  const { authority, client = ownCertificate(host, pki), timeoutMs = 5_000 } = access;
  const shown = { certificate: client.certificate, key: client.privateKey };
  const toKubelets = { ...limits.kubeletConnections, connectMs: timeoutMs };
  const ca = authority === undefined ? {} : { ca: authority };
  const transports = {
    verified: hostsTransport({ ...shown, ...ca, limits: toKubelets }),
    unverified: hostsTransport({ ...shown, limits: toKubelets }),
    backends: hostsTransport({ limits: limits.kubeletConnections }),
  };
  const types = access.addressTypes === undefined ? {} : { addressTypes: access.addressTypes };
  return {
    kubelets: {
      ...transports,
      streams: new OpenStreams(limits.kubeletStreams),
      options: { ...kubeletDefaults, ...types },
    },
    close: () => Object.values(transports).forEach((transport) => transport.close()),
  };
}

/**
 * Kubelets that trust the cluster's authority know this server by it; as a member of system:masters it may
 * do everything there. Its key never leaves this process, so it lives as long as the authority.
 */
function ownCertificate(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
): IssuedCertificate {
  const nowMs = clock.nowMs();
  const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 3650 * 86_400_000 };
  const subject = { commonName: "kube-apiserver-kubelet-client", organizations: [groups.masters] };
  return makeClientCertificate(pki.authority, subject, { validity, serial: random.bytes(16) });
}
