/** The connections to kubelets, pods and Services: transports, limits, and the client certificate of this server. */
import type { Kubelets } from "#apiserver/kubelet/deps.ts";
import { kubeletDefaults } from "#apiserver/kubelet/deps.ts";
import { OpenStreams } from "#apiserver/kubelet/open-streams.ts";
import type { Pki } from "#auth/pki-files.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import {
  type HostsCredentials,
  hostsTransport,
  type RefusesAddress,
} from "#platform/node/http/http-hosts.ts";
import type { Random } from "#platform/random.ts";
import { parseGoDuration } from "#api/go/go-duration.ts";
import * as limits from "../shared/limits.ts";
import { kubeletCredentials, type KubeletIdentity, readPems } from "./kubelet-credentials.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface KubeletFlags {
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletPreferredAddressTypes?: string;
  readonly kubeletTimeout?: string;
}

export interface KubeletAccess extends KubeletIdentity {
  readonly addressTypes?: readonly string[];
  /** Timeout of the connection set-up to a kubelet, in milliseconds. */
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
    ...given({ authority: ca }),
    ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
  };
  return {
    ...readPems(files),
    ...(Object.keys(files).length === 0 ? {} : { files }),
    ...(types === undefined ? {} : { addressTypes: typesOf(types) }),
    timeoutMs: timeoutOf(flags.kubeletTimeout ?? "5s"),
  };
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
  /** Whether a certificate is this server's own. `fingerprint`: its SHA-256 in hex. Absent: none is. */
  readonly isShown?: (fingerprint: string) => boolean;
  /** Closes idle connections. */
  close(): void;
}

export function openKubelets(
  host: { readonly clock: Clock; readonly random: Random },
  pki: Pki,
  access: KubeletAccess & { readonly refuses?: RefusesAddress },
): OpenedKubelets {
  const { timeoutMs = 5_000 } = access;
  const toKubelets = { ...limits.kubeletConnections, connectMs: timeoutMs };
  const credentials = kubeletCredentials(host, pki, access);
  const verified = (): HostsCredentials => credentials.current();
  const unverified = (): HostsCredentials => {
    const { certificate = "", key = "" } = verified();
    return { certificate, key };
  };
  const refuses = given({ refuses: access.refuses });
  const transports = {
    verified: hostsTransport({ credentials: verified, limits: toKubelets, ...refuses }),
    unverified: hostsTransport({ credentials: unverified, limits: toKubelets, ...refuses }),
    backends: hostsTransport({ limits: limits.kubeletConnections, ...refuses }),
  };
  const types = given({ addressTypes: access.addressTypes });
  return {
    kubelets: {
      ...transports,
      streams: new OpenStreams(limits.kubeletStreams),
      options: { ...kubeletDefaults, ...types },
    },
    isShown: (fingerprint) => credentials.isShown(fingerprint),
    close: () => Object.values(transports).forEach((transport) => transport.close()),
  };
}
