/** Threads of a plane for work that would block its event loop too long. They are started at the first use. */
import { ExpressionRunner } from "#extension/expressions/runner.ts";
import type { ExpressionAnswer, ExpressionTask } from "#extension/expressions/tasks.ts";
import type { Clock } from "#platform/clock.ts";
import { NodeOffload } from "#platform/node/offload.ts";
import type { YamlInput, YamlOutput, YamlThread } from "#wire/yaml-reader.ts";
import * as limits from "../shared/limits.ts";

export interface Threads {
  readonly yaml: YamlThread;
  readonly runner: ExpressionRunner;
  close(): Promise<void>;
}

export function openThreads(host: { readonly clock: Clock }): Threads {
  const yaml = new NodeOffload<YamlInput, YamlOutput>(host, {
    program: new URL("../../../core/wire/yaml-task.ts", import.meta.url),
    ...limits.yamlThreads,
  });
  const expressions = new NodeOffload<ExpressionTask, ExpressionAnswer>(host, {
    program: new URL("../../../gate/extension/expressions/thread.ts", import.meta.url),
    ...limits.expressionThreads,
  });
  return {
    yaml,
    runner: new ExpressionRunner(expressions),
    async close() {
      await yaml.close();
      await expressions.close();
    },
  };
}
