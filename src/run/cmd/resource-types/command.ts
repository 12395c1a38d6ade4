/** The flags of `pilothouse types`. */
import type { Command } from "commander";
import type { ResourceTypesFlags } from "./run.ts";

export function addTypes(program: Command): void {
  program
    .command("types")
    .description("write TypeScript types of custom resources to standard output")
    .option("--crd <file>", "definitions, YAML or JSON, perhaps several documents")
    .option("--kubeconfig <file>", "take the definitions of this cluster instead")
    .action(async (flags: ResourceTypesFlags) =>
      (await import("./run.ts")).writeResourceTypes(flags),
    );
}
