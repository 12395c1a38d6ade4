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

/** Paths of the credentials. They are checked for changes, because an operator may renew them. */
interface KubeletFiles {
  readonly authority?: string;
  readonly certificate?: string;
  readonly key?: string;
}

interface KubeletPems {
  /** CA of kubelets in PEM. Absent: like upstream, the certificates of kubelets are not checked. */
  readonly authority?: string;
  /** Client certificate. Absent: the cluster's CA issues one at the start. */
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

/** Checks the files at the start. Otherwise each connection would fail on its own. */
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
  /** Returns the present credentials. Renewed files take effect for new connections. */
  current(): HostsCredentials;
  /** Whether the certificate is or was presented to kubelets. `fingerprint`: its SHA-256 in hex. */
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

/** The set grows only when an operator renews files while the process runs. */
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

/**
 * Whether the client is in system:masters. A node's status decides where the certificate is presented, so a writer of
 * that status would gain its rights.
 */
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
