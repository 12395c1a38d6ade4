/**
 * How a relay reaches its upstream, and with which identity: a kubeconfig, a URL with credential files, or, by
 * default, as kubectl would: a Pod's own service account, KUBECONFIG, ~/.kube/config.
 */
import {
  defaultKubeconfigPath,
  inClusterAccess,
  KubeconfigError,
  loadKubeconfig,
  tokenFile,
  type KubeAccess,
} from "#platform/node/kubeconfig.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Credentials for an upstream that is a URL. They are files in PEM, except for the token. */
export interface UpstreamFlags {
  /** Path of a kubeconfig, or a URL. Absent: the same as for kubectl. */
  readonly upstream?: string;
  readonly context?: string;
  readonly upstreamCa?: string;
  readonly upstreamCert?: string;
  readonly upstreamKey?: string;
  readonly upstreamTokenFile?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `flag`: the kubeconfig's flag for error texts. Throws UsageError for unusable credentials. */
export async function accessOf(
  flags: UpstreamFlags,
  env: Environment,
  flag = "--upstream",
): Promise<KubeAccess> {
  const { upstream, context } = flags;
  try {
    if (upstream !== undefined && isUrl(upstream)) return urlAccess(upstream, flags);
    refuseUrlFlags(flags);
    const own = upstream === undefined && context === undefined ? inClusterAccess(env) : undefined;
    if (own !== undefined) return own;
    const access = await loadKubeconfig(upstream ?? defaultKubeconfigPath(env), context);
    return { ...access, server: serverOf(access.server) };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    const hint = upstream === undefined ? `; name the API server with ${flag}` : "";
    throw new UsageError(error.message + hint, { cause: error });
  }
}

function isUrl(upstream: string): boolean {
  return /^https?:\/\//i.test(upstream);
}

function urlAccess(upstream: string, flags: UpstreamFlags): KubeAccess {
  if (flags.context !== undefined)
    throw new UsageError("--context is a kubeconfig's: leave it out");
  const { upstreamCa: ca, upstreamCert: certificate, upstreamKey: key } = flags;
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError("--upstream-cert and --upstream-key go together");
  }
  return {
    server: serverOf(upstream),
    ...(ca === undefined ? {} : { ca: readOperatorFile(ca) }),
    ...(certificate === undefined ? {} : { certificate: readOperatorFile(certificate) }),
    ...(key === undefined ? {} : { key: readOperatorFile(key) }),
    ...tokenOf(flags.upstreamTokenFile),
    namespace: "default",
  };
}

/** Allows http only on loopback (`kubectl proxy`), because tokens of the relay and of its clients are sent there. */
function serverOf(upstream: string): string {
  const url = URL.parse(upstream);
  if (url === null) throw new UsageError(`the upstream ${upstream} is no URL`);
  if (url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new UsageError("the upstream is a URL without user, query and fragment");
  }
  if (url.protocol === "http:" && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    throw new UsageError(
      `the upstream ${upstream} would be sent tokens in the clear: use https://`,
    );
  }
  return upstream;
}

/** Reads the file at once, so that the start reports a missing file. */
function tokenOf(path: string | undefined): Pick<KubeAccess, "bearerToken"> {
  if (path === undefined) return {};
  const bearerToken = tokenFile(path);
  if (bearerToken() === "") throw new UsageError(`--upstream-token-file ${path} is empty`);
  return { bearerToken };
}

function refuseUrlFlags(flags: UpstreamFlags): void {
  const { upstreamCa, upstreamCert, upstreamKey, upstreamTokenFile } = flags;
  const given = [upstreamCa, upstreamCert, upstreamKey, upstreamTokenFile];
  if (given.every((one) => one === undefined)) return;
  throw new UsageError(
    "--upstream-ca, -cert, -key and -token-file go with a URL as --upstream; a kubeconfig has its own",
  );
}
