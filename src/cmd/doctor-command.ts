/** The flags of `pilothouse doctor`. */
import { type Command, Option } from "commander";
import type { DoctorFlags } from "./doctor.ts";
import { integer } from "./flag-values.ts";

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description(
      "say what is wrong with a control plane, who does it, and what to do; it only reads",
    )
    .option("--kubeconfig <file>", "how to reach the API server; absent: what kubectl would read")
    .option("--context <name>", "the kubeconfig's context; its current one when absent")
    .option(
      "--seconds <count>",
      "time between two samples of the metrics; a longer time sees rarer faults",
      integer("count", 1, 600),
      1,
    )
    .addOption(new Option("--format <how>", "output").choices(["text", "json"]).default("text"))
    .addHelpText("after", help)
    .action(async (flags: DoctorFlags) => (await import("./doctor.ts")).doctor(flags));
}

const help = `
Exit codes: 0 nothing found, 1 findings, 2 the API server could not be looked at.

Examples:
  pilothouse doctor --kubeconfig .pilothouse/kubeconfig
  pilothouse doctor --seconds 60 --format json`;
