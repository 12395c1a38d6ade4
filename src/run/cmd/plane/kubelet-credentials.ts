/**
 * What this server shows to kubelets and checks them by: PEM of files that may be renewed, or a certificate
 * that the cluster's authority issues at the start.
 */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { groups, kubeletClientName } from "#auth/groups.ts";
import type { Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { HostsCredentials } from "#platform/node/http/http-hosts.ts";
import type { Random } from "#platform/random.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { renewedFiles } from "./renewed-files.ts";
import { UsageError } from "../shared/usage-error.ts";

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
    ...given({ authority: ca, client }),
  };
}

/** At the start: otherwise each connection would fail, one by one. */
function checkPem(ca: string | undefined, client: IssuedCertificate | undefined): void {
  try {
    const pair = client === undefined ? {} : { cert: client.certificate, key: client.privateKey };
    createSecureContext({ ...given({ ca }), ...pair });
  } catch (error) {
    const text = `--kubelet-certificate-authority, --kubelet-client-certificate or --kubelet-client-key: ${(error as Error).message}`;
    throw new UsageError(text, { cause: error });
  }
}

interface KubeletCredentials {
  /** As they are now: renewed files count for new connections. */
  current(): HostsCredentials;
  /** By SHA-256 of the certificate, in hex: one that kubelets are shown, or were. */
  isShown(fingerprint: string): boolean;
}

export function kubeletCredentials(
  host: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
  access: KubeletIdentity,
): KubeletCredentials {
  const own = access.client === undefined ? ownCertificate(host, pki) : undefined;
  const { files } = access;
  const paths = Object.values(files ?? {});
  const read = (): KubeletPems => readPems(files ?? {});
  const pems = renewedFiles<KubeletPems>(host.clock, { paths, first: access, read });
  const shown = new ShownCertificates();
  const current = (): HostsCredentials => {
    const { authority, client = own } = pems();
    if (client !== undefined) shown.add(client.certificate);
    return {
      ...given({ ca: authority }),
      ...(client === undefined ? {} : { certificate: client.certificate, key: client.privateKey }),
    };
  };
  return {
    current,
    isShown(fingerprint) {
      current();
      return shown.has(fingerprint);
    },
  };
}

/** Bounded by how often an operator renews files while the process runs. */
class ShownCertificates {
  readonly #fingerprints = new Set<string>();
  #last = "";

  add(pem: string): void {
    if (pem === this.#last) return;
    this.#last = pem;
    const { fingerprint256 } = new X509Certificate(pem);
    this.#fingerprints.add(fingerprint256.replaceAll(":", "").toLowerCase());
  }

  has(fingerprint: string): boolean {
    return this.#fingerprints.has(fingerprint);
  }
}

/** Nodes say where it is shown: a writer of their status would be as good as its bearer. */
export function isMasters({ client }: KubeletIdentity): boolean {
  if (client === undefined) return false;
  const { subject } = new X509Certificate(client.certificate);
  return subject.split("\n").some((line) => line === `O=${groups.masters}`);
}

/**
 * Kubelets that trust the cluster's authority know this server by it. It may do nothing but what ClusterRole
 * system:kubelet-api-admin says (bootstrap-objects.ts binds it): requests that carry it go where objects lead
 * them. Its key never leaves this process, so it lives as long as the authority.
 */
function ownCertificate(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
): IssuedCertificate {
  const nowMs = clock.nowMs();
  const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 3650 * 86_400_000 };
  const subject = { commonName: kubeletClientName, organizations: [] };
  return makeClientCertificate(pki.authority, subject, { validity, serial: random.bytes(16) });
}
