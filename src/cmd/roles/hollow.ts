/** `pilothouse hollow`: hollow nodes before any API server, as the kubeconfig's user. */
import type { ImagePatterns } from "#hollow/image-pull.ts";
import { createHollowNodes } from "#hollow/hollow.ts";
import { hollowDefaults } from "#hollow/options.ts";
import { hollowStartMs, hollowStopMs } from "../limits.ts";
import { nodeHost } from "../node-host.ts";
import { productVersion } from "../product.ts";
import { giveMemoryBack } from "../spare-memory.ts";
import { onStopSignal } from "../stop-signal.ts";
import { ApiConnection, apiAccess } from "./api-access.ts";
import type { ApiFlags } from "./flags.ts";

export interface HollowFlags extends ApiFlags {
  readonly nodes: number;
  readonly firstIndex: number;
  readonly namePrefix: string;
  readonly zones: number;
  readonly pods: number;
  readonly cpu: string;
  readonly memory: string;
  readonly imagePullError: ImagePatterns;
}

export async function hollowRole(flags: HollowFlags): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  onStopSignal(() => stopping.abort());
  const host = nodeHost(flags);
  const connection = new ApiConnection(await apiAccess(flags), "pilothouse-hollow");
  const hollow = createHollowNodes({ ...host, client: connection.client() }, optionsOf(flags));
  process.stdout.write(
    `pilothouse ${productVersion} hollow: registering ${flags.nodes} nodes at ${connection.access.server}\n`,
  );
  // Timers of the platform do not keep a process alive.
  const alive = setInterval(() => {}, 60_000);
  const spare = giveMemoryBack(host.clock);
  const running = host.supervisor.run("hollow", signal, () => hollow.run(signal));
  await Promise.race([hollow.registered, running]);
  if (!signal.aborted) process.stdout.write(`${flags.nodes} nodes registered\n`);
  await running;
  spare.stop();
  clearInterval(alive);
  connection.close();
  process.stdout.write("stopped\n");
}

function optionsOf(flags: HollowFlags) {
  const { nodes: count, firstIndex, namePrefix, zones, pods, cpu, memory } = flags;
  return {
    ...hollowDefaults,
    startMs: hollowStartMs,
    stopMs: hollowStopMs,
    unpullable: flags.imagePullError,
    count,
    firstIndex,
    namePrefix,
    zones,
    pods,
    cpu,
    memory,
  };
}
