/** The way to kubelets, pods and Services: transports, limits, and the certificate this server shows. */
import { createSecureContext } from "node:tls";
import type { Kubelets } from "#apiserver/kubelet/deps.ts";
import { kubeletDefaults } from "#apiserver/kubelet/deps.ts";
import { OpenStreams } from "#apiserver/kubelet/open-streams.ts";
import { groups } from "#auth/groups.ts";
import type { Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import type { Clock } from "#platform/clock.ts";
import { type HostsCredentials, hostsTransport } from "#platform/node/http/http-hosts.ts";
import type { Random } from "#platform/random.ts";
import { parseGoDuration } from "#api/go-duration.ts";
import * as limits from "./limits.ts";
import { renewedFiles } from "./renewed-files.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

export interface KubeletFlags {
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletPreferredAddressTypes?: string;
  readonly kubeletTimeout?: string;
}

interface KubeletFiles {
  readonly authority?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** Read from those files. */
type KubeletPems = Pick<KubeletAccess, "authority" | "client">;

export interface KubeletAccess {
  /** PEM. Absent: the certificates of kubelets are not checked, as upstream. */
  readonly authority?: string;
  /** Absent: one that the cluster's authority issues at the start. */
  readonly client?: IssuedCertificate;
  /** Where both were read: looked at again, as an operator may renew them. */
  readonly files?: KubeletFiles;
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
  const files = {
    ...(ca === undefined ? {} : { authority: ca }),
    ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
  };
  return {
    ...readPems(files),
    ...(Object.keys(files).length === 0 ? {} : { files }),
    ...(types === undefined ? {} : { addressTypes: typesOf(types) }),
    timeoutMs: timeoutOf(flags.kubeletTimeout ?? "5s"),
  };
}

/** @throws UsageError */
function readPems({ authority, certificate, key }: KubeletFiles): KubeletPems {
  const ca = authority === undefined ? undefined : readOperatorFile(authority);
  const client =
    certificate === undefined || key === undefined
      ? undefined
      : { certificate: readOperatorFile(certificate), privateKey: readOperatorFile(key) };
  checkPem(ca, client);
  return {
    ...(ca === undefined ? {} : { authority: ca }),
    ...(client === undefined ? {} : { client }),
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
  const { timeoutMs = 5_000 } = access;
  const toKubelets = { ...limits.kubeletConnections, connectMs: timeoutMs };
  const verified = kubeletCredentials(host, pki, access);
  const unverified = (): HostsCredentials => {
    const { certificate = "", key = "" } = verified();
    return { certificate, key };
  };
  const transports = {
    verified: hostsTransport({ credentials: verified, limits: toKubelets }),
    unverified: hostsTransport({ credentials: unverified, limits: toKubelets }),
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

/** As they are now: renewed files count for new connections. */
export function kubeletCredentials(
  host: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
  access: KubeletAccess,
): () => HostsCredentials {
  const own = access.client === undefined ? ownCertificate(host, pki) : undefined;
  const { files } = access;
  const paths = Object.values(files ?? {});
  const read = (): KubeletPems => readPems(files ?? {});
  const pems = renewedFiles<KubeletPems>(host.clock, { paths, first: access, read });
  return () => {
    const { authority, client = own } = pems();
    return {
      ...(authority === undefined ? {} : { ca: authority }),
      ...(client === undefined
        ? {}
        : { certificate: client.certificate, key: client.privateKey }),
    };
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
