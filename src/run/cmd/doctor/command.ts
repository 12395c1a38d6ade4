/** The flags of `pilothouse doctor`. */
import { Argument, type Command, Option } from "commander";
import type { DoctorFlags } from "./run.ts";
import { duration, integer } from "../shared/flag-values.ts";

export function addDoctor(program: Command): void {
  const doctor = program
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
    .addOption(
      new Option("--watch [seconds]", "look again and again, and tell what changed")
        .argParser(integer("seconds", 1, 86_400))
        .preset("30"),
    )
    .option(
      "--metrics-listen <address:port>",
      "with --watch: where the findings are scraped as metrics; on loopback",
    )
    .option(
      "--scheduler <where>",
      "its metrics: a URL, or a path that the API server's proxy serves",
    )
    .option("--controller-manager <where>", "its metrics, as of --scheduler")
    .option("--etcd <where>", "etcd's metrics, as of --scheduler")
    .option("--relay <file>", "a kubeconfig whose server is a relay: what it has saved")
    .option(
      "--audit <file>",
      "an audit log, of which the last 256 MiB are read; it names the clients",
    )
    .option("--prometheus <url>", "a Prometheus: what was since --since is looked at too")
    .option("--since <duration>", "how far back in Prometheus", duration, 3_600_000)
    .addOption(
      new Option("--format <how>", "output").choices(["text", "json", "html"]).default("text"),
    )
    .addHelpText("after", help)
    .action(async (flags: DoctorFlags) => (await import("./run.ts")).doctor(flags));
  doctor
    .command("export")
    .description("write the doctor's rules as alerts for Prometheus or a dashboard for Grafana")
    .addArgument(new Argument("<what>", "what to write").choices(["alerts", "dashboard"]))
    .action(async (what: "alerts" | "dashboard") =>
      (await import("./export.ts")).exportRules(what),
    );
}

const help = `
Exit codes: 0 nothing found, 1 findings, 2 the API server could not be looked at.

Examples:
  pilothouse doctor --kubeconfig .pilothouse/kubeconfig
  pilothouse doctor --seconds 60 --format json
  pilothouse doctor export alerts > doctor-rules.yaml`;
