/**
 * What this server shows to kubelets and checks them by: PEM of files that may be renewed, or a certificate
 * that the cluster's authority issues at the start.
 */
import { createSecureContext } from "node:tls";
import { groups } from "#auth/groups.ts";
import type { Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import type { Clock } from "#platform/clock.ts";
import type { HostsCredentials } from "#platform/node/http/http-hosts.ts";
import type { Random } from "#platform/random.ts";
import { readOperatorFile } from "./operator-file.ts";
import { renewedFiles } from "./renewed-files.ts";
import { UsageError } from "./usage-error.ts";

/** Where they were read: looked at again, as an operator may renew them. */
interface KubeletFiles {
  readonly authority?: string;
  readonly certificate?: string;
  readonly key?: string;
}

interface KubeletPems {
  /** PEM. Absent: the certificates of kubelets are not checked, as upstream. */
  readonly authority?: string;
  /** Absent: one that the cluster's authority issues at the start. */
  readonly client?: IssuedCertificate;
}

export interface KubeletIdentity extends KubeletPems {
  readonly files?: KubeletFiles;
}

/** @throws UsageError */
export function readPems({ authority, certificate, key }: KubeletFiles): KubeletPems {
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

/** As they are now: renewed files count for new connections. */
export function kubeletCredentials(
  host: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
  access: KubeletIdentity,
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
      ...(client === undefined ? {} : { certificate: client.certificate, key: client.privateKey }),
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
