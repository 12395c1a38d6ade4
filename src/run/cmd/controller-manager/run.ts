/** `pilothouse controller-manager`: the controllers alone, against any API server. */
import { given } from "#base/given.ts";
import { signDetached } from "#auth/cluster-info-signature.ts";
import { ClusterSigner } from "#auth/cluster-signer.ts";
import { signingKey, signToken } from "#auth/jwt.ts";
import { legacyClaims } from "#auth/legacy-token.ts";
import { serviceAccountUser } from "#auth/groups.ts";
import type { Client } from "#client/client.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { ControllerMetrics } from "#controllers/metrics.ts";
import { createControllerManager, type ManagerOptions } from "#controllers/manager.ts";
import type { NodeLifecycleOptions } from "#controllers/nodelifecycle/options.ts";
import type { LegacyTokens } from "#controllers/serviceaccount/token-controller.ts";
import { PublishedKinds } from "#extension/policies/published-kinds.ts";
import { RecoveryMetrics } from "#client/recovery-metrics.ts";
import { QueueMetrics } from "#client/queue-metrics.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { Parts } from "../shared/parts.ts";
import { openRecovery, pacedClient, recoveryLimitsOf } from "../shared/recovery.ts";
import type { Started } from "../shared/role-life.ts";
import { type SigningFlags, signingOf } from "../shared/signing.ts";
import { componentUserAgent } from "../shared/user-agent.ts";
import { UsageError } from "../shared/usage-error.ts";
import { accountTransport } from "./account-clients.ts";
import { type ApiConnection, type Fence, fenced } from "../shared/api-access.ts";
import { documentReader } from "./published-documents.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { autoscalingOf } from "./autoscaling-flags.ts";
import { controllerManagerConfigz } from "./configz.ts";
import type { ControllerManagerFlags } from "./flags.ts";
import { nodeIpamOf } from "./node-ranges.ts";
import { workersOf } from "./worker-flags.ts";

const role = "kube-controller-manager";

export function controllerManagerRole(flags: ControllerManagerFlags): Promise<void> {
  return runRole(flags, openControllerManager);
}

function openControllerManager(
  host: SupervisedHost,
  flags: ControllerManagerFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started> {
  const mint = legacyMint(flags);
  const signing = signingOf(flags);
  const nodeIpam = nodeIpamOf(flags);
  const workOf: WorkOf = ({ connection, metrics }) => {
    const fixed = {
      ...signingController(host, flags, signing),
      rootCa: rootCa(signing, connection),
    };
    const { bearerToken } = connection.access;
    const kinds = new PublishedKinds(documentReader(connection.transport(), bearerToken));
    const chosen: Omit<ManagerOptions, "rootCa"> = {
      controllers: flags.controllers,
      nodeLifecycle: nodeLifecycleOf(flags),
      autoscaling: autoscalingOf(flags),
      workers: workersOf(flags),
      ...given({ nodeIpam }),
      terminatedPodsMax: flags.terminatedPodGcThreshold,
      legacyTokenPeriodMs: flags.legacyServiceAccountTokenCleanUpPeriod,
      signDetached,
      checkPolicyTypes: (policy, signal) => kinds.check(policy, signal),
    };
    const queues = new QueueMetrics(metrics);
    const counted = new ControllerMetrics(metrics);
    const paced = new RecoveryMetrics(metrics);
    return async (signal, term) => {
      const client = connection.client(term);
      const informers = createInformerSet({ ...host, client: connection.client() });
      const pacing = { client, metrics: paced, component: role, sharesLoop: false };
      const recovery = openRecovery(host, pacing, recoveryLimitsOf(flags));
      const clientFor = clientsOf(host, connection, client, flags, term);
      const legacyTokens = mint === undefined ? {} : { legacyTokens: { client, mint } };
      const manager = createControllerManager(
        {
          ...host,
          metrics: counted,
          observe: (name) => queues.observer(name),
          informers,
          ...given({ recovery }),
          clientFor: (account) => pacedClient(clientFor(account), recovery, host),
        },
        { ...fixed, ...chosen, ...legacyTokens },
      );
      queues.show(() => manager.metrics());
      await Promise.all([manager.run(signal), informers.run(signal)]);
      queues.show(() => []);
    };
  };
  const userAgent = componentUserAgent(role);
  const configz = controllerManagerConfigz(flags);
  return openRole(role, { userAgent, host, flags, workOf, configz }, parts, stopping);
}

function nodeLifecycleOf(flags: ControllerManagerFlags): NodeLifecycleOptions {
  return {
    monitorMs: flags.nodeMonitorPeriod,
    graceMs: flags.nodeMonitorGracePeriod,
    startupGraceMs: flags.nodeStartupGracePeriod,
    evictionsPerSecond: flags.nodeEvictionRate,
    secondaryEvictionsPerSecond: flags.secondaryNodeEvictionRate,
    unhealthyShare: flags.unhealthyZoneThreshold,
    largeZoneNodes: flags.largeClusterSizeThreshold,
  };
}

/** Returns a client per controller with its own service account, or one client of the kubeconfig's user for all. */
function clientsOf(
  host: SupervisedHost,
  connection: ApiConnection,
  own: Client,
  flags: ControllerManagerFlags,
  fence: Fence,
): (account: string) => Client {
  if (!flags.useServiceAccountCredentials) return () => own;
  const http = connection.transport({ isAnonymous: true });
  const deps = { ...host, client: own };
  return (account) => {
    const user = serviceAccountUser("kube-system", account);
    const agent = componentUserAgent("kube-controller-manager", user);
    return connection.clientAs(fenced(accountTransport(deps, http, account), fence), agent);
  };
}

/** Like upstream, uses the CA of its own kubeconfig where --root-ca-file is not given. */
function rootCa(
  { rootCa: given }: { readonly rootCa?: string },
  { access }: ApiConnection,
): string {
  const pem = given ?? access.ca;
  if (pem !== undefined) return pem;
  throw new UsageError(
    "the kubeconfig names no certificate authority: give --root-ca-file, which pods check the API server by",
  );
}

function signingController(
  host: SupervisedHost,
  { clusterSigningDuration: lifetimeMostMs }: SigningFlags,
  { signingAuthority: authority, signers }: ReturnType<typeof signingOf>,
): Pick<ManagerOptions, "certificates"> {
  if (authority === undefined) return {};
  const some = given({ signers });
  return {
    certificates: { authority: new ClusterSigner({ ...host, authority, ...some }), lifetimeMostMs },
  };
}

function legacyMint({
  serviceAccountPrivateKeyFile: path,
}: ControllerManagerFlags): LegacyTokens["mint"] | undefined {
  if (path === undefined) return undefined;
  try {
    const key = signingKey(readOperatorFile(path));
    return (namespace, account, secretName) =>
      signToken(key, legacyClaims({ namespace, account, secretName }));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--service-account-private-key-file ${path}: no private key in PEM`, {
      cause: error,
    });
  }
}
