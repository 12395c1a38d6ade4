/**
 * `import { runScheduler } from "pilothouse/scheduler"`: the scheduler with plugins of one's own, on a connection of
 * `pilothouse/client`. A plugin is what `pilothouse/scheduler/plugin` says, and one line in `plugins`.
 */
import type { Tools } from "./connect.ts";
import { defaultPlugins } from "#scheduler/default-plugins.ts";
import type { PluginFactory } from "#scheduler/plugin.ts";
import { defaultProfile } from "#scheduler/profile.ts";
import { createScheduler, schedulerDefaults } from "#scheduler/scheduler.ts";

interface OwnScheduler {
  /** Pods with this `spec.schedulerName` are scheduled here. "default-scheduler" replaces the existing scheduler. */
  readonly schedulerName: string;
  /** Plugins that run after upstream's. Each one is created once. */
  readonly plugins: readonly PluginFactory[];
}

/** Call once per `tools`, whose informers it runs. Schedules until `signal` aborts, then resolves when the binds in flight have ended. */
export async function runScheduler(
  tools: Tools,
  { schedulerName, plugins }: OwnScheduler,
  signal: AbortSignal,
): Promise<void> {
  const profile = {
    ...defaultProfile,
    schedulerName,
    plugins: [...defaultPlugins, ...plugins],
  };
  const scheduler = createScheduler(tools, { ...schedulerDefaults, profiles: [profile] });
  await Promise.all([scheduler.run(signal), tools.informers.run(signal)]);
}
