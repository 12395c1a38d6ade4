/** `pilothouse hollow`: hollow nodes against any API server, with the kubeconfig's credentials. */
import { given } from "#base/given.ts";
import { hollowDefaults, type HollowOptions } from "#hollow/options.ts";
import { devicesOf } from "../shared/device-file.ts";
import { failuresOf } from "../shared/failure-file.ts";
import { listenAsKubelets } from "../shared/hollow-kubelet.ts";
import {
  nodeStages,
  stagedHollowNodes,
  type StagePlan,
  stagePlanOf,
} from "../shared/hollow-stages.ts";
import { openNodeGroups } from "../shared/node-group-role.ts";
import { hollowStartMs, hollowStopMs, shutdownMs } from "../shared/limits.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { nodeHost } from "../shared/node-host.ts";
import type { Parts } from "../shared/parts.ts";
import { productVersion } from "../shared/product.ts";
import {
  type OpenRole,
  runToEnd,
  type Started,
  throwFailure,
  untilAborted,
} from "../shared/role-life.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { componentUserAgent } from "../shared/user-agent.ts";
import { ApiConnection, apiAccess, paceOf } from "../shared/api-access.ts";
import type { HollowFlags, NodeRange } from "./flags.ts";

export function hollowRole(flags: HollowFlags): Promise<void> {
  const host = nodeHost(flags);
  const open: OpenRole = (parts, stopping) => openHollow(host, flags, parts, stopping);
  return runToEnd(open, { onFailed: throwFailure });
}

/** Resolves when every node is registered. Undefined: it was stopped before that. */
export async function openHollow(
  host: SupervisedHost,
  flags: HollowFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started | undefined> {
  const options = optionsOf(flags);
  const { count } = options;
  const access = await apiAccess(flags);
  const connection = await parts.open(
    "connection",
    () => new ApiConnection(access, componentUserAgent("kubelet"), paceOf(host.clock, flags)),
    { close: (opened) => opened.close() },
  );
  const clients = {
    client: connection.client(),
    clientAs: (user: string) => connection.impersonating(user),
  };
  const plan = stagePlanOf(flags.stages, flags.enableCrds);
  const kubelet = await openKubelets(host, connection, { ...flags, ...given({ plan }) }, parts);
  const hollow = stagedHollowNodes(host, clients, { ...options, ...given({ kubelet }) }, plan);
  process.stdout.write(
    `pilothouse ${productVersion} hollow: registering ${count} nodes at ${access.server}\n`,
  );
  await openSpareMemory(host.clock, parts);
  const ending = new AbortController();
  const run = (): Promise<void> =>
    host.supervisor.run("hollow", ending.signal, () => hollow.run(ending.signal));
  await parts.open("hollow", () => ({ done: run() }), {
    close: async ({ done }) => {
      ending.abort();
      await done;
    },
  });
  const { nodeGroups: path } = flags;
  const asked = {
    flags,
    options: { ...options, firstIndex: options.firstIndex + count },
    stages: nodeStages(plan),
  };
  const provider =
    path === undefined ? undefined : await openNodeGroups(host, clients, { path, ...asked }, parts);
  await Promise.race([hollow.registered, untilAborted(stopping)]);
  const groups = provider === undefined ? "" : `node groups at ${provider.address}\n`;
  return stopping.aborted ? undefined : { text: `${count} nodes registered\n${groups}` };
}

/** Opens the kubelets' endpoint. Undefined: the flag is not given. */
async function openKubelets(
  host: SupervisedHost,
  connection: ApiConnection,
  { kubeletListen, plan }: Pick<HollowFlags, "kubeletListen"> & { readonly plan?: StagePlan },
  parts: Parts,
): Promise<HollowOptions["kubelet"]> {
  if (kubeletListen === undefined) return undefined;
  const more = given({ clientCa: connection.access.ca, rules: plan?.rules });
  const deps = { host, client: connection.client(), ...more };
  const listening = await parts.open("kubelets", () => listenAsKubelets(deps, kubeletListen), {
    close: (opened) => opened.close(shutdownMs),
  });
  return { address: kubeletListen.host, port: listening.address.port };
}

const nodesStandard = 10;

function nodeRangeOf({ firstIndex, nodeGroups, nodeRange, nodes }: HollowFlags): NodeRange {
  const standard = nodeGroups === undefined ? nodesStandard : 0;
  return nodeRange ?? { nodes: nodes ?? standard, firstIndex };
}

function optionsOf(flags: HollowFlags) {
  const { namePrefix, watchShape, zones, pods, cpu, memory } = flags;
  const { nodes: count, firstIndex } = nodeRangeOf(flags);
  return {
    ...hollowDefaults,
    startMs: hollowStartMs,
    stopMs: hollowStopMs,
    unpullable: flags.imagePullError,
    ...given({ devices: devicesOf(flags.devices) }),
    failures: failuresOf(flags.failures),
    count,
    firstIndex,
    namePrefix,
    watchShape,
    zones,
    pods,
    cpu,
    memory,
  };
}
