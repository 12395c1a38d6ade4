/** The command `pilothouse scheduler` and its flags. */
import { type Command, Option } from "commander";
import { addRecoveryFlag } from "../shared/recovery.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import type { ExplainFlags } from "./explain.ts";
import type { SchedulerFlags } from "./flags.ts";
import { kubeSchedulerFlags } from "../shared/stock-flags/kube-scheduler.ts";
import { addStockFlags } from "../shared/stock-flags/stock-flag.ts";
import { version } from "../shared/user-agent.ts";

export function addScheduler(program: Command): void {
  const command = program
    .command("scheduler")
    .version(`Kubernetes ${version.gitVersion}`, "--version", "print the version and exit")
    .description("schedule the pods of any Kubernetes API server, in place of kube-scheduler")
    .option(
      "--config <file>",
      "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); what it says overrides flags",
    );
  addRoleFlags(command, { lease: "kube-scheduler", port: 10_259 });
  addRecoveryFlag(command);
  addStockFlags(command, kubeSchedulerFlags);
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse scheduler --kubeconfig scheduler.conf        one of several: the holder of Lease kube-scheduler works
  pilothouse scheduler --leader-elect=false --secure-port 0 --kubeconfig scheduler.conf
  curl -k https://127.0.0.1:10259/readyz                  is it well`,
    )
    .action(async (flags: SchedulerFlags) => {
      const { schedulerRole } = await import("../scheduler/run.ts");
      await schedulerRole(flags);
    });
  command
    .command("explain <pod>")
    .description(
      "say why a pod is where it is, or nowhere, by plugin, and what would have to change; it only reads",
    )
    .option("--kubeconfig <file>", "how to reach the API server")
    .option("-n, --namespace <name>", "of the pod", "default")
    .option("--config <file>", "the scheduler's KubeSchedulerConfiguration")
    .addOption(new Option("-o, --output <how>", "output").choices(["text", "json"]).default("text"))
    .action(async (pod: string, flags: ExplainFlags) => {
      const { explain } = await import("../scheduler/explain.ts");
      await explain(pod, flags);
    });
}
