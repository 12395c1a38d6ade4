/** The command `pilothouse sink`. */
import { type Command, InvalidArgumentError } from "commander";
import { addApiFlags, addLeaseFlags, addRoleFlags, type RoleFlags } from "../shared/role-flags.ts";
import type { ReplayFlags } from "./replay.ts";

/** Lease of a sink's instances, of its replays, and of relays with sinks. */
const lease = { lease: "pilothouse-sink", leaseNamespace: "kube-system" } as const;

export function addSink(program: Command): void {
  const command = program
    .command("sink")
    .description(
      "write every change of chosen objects into NATS JetStream, Redis Streams or to HTTP",
    )
    .argument("<file>", "the sinks, as docs/sinks.md shows");
  addRoleFlags(command, { ...lease, port: 10_266 });
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse sink sinks.yaml --kubeconfig sink.conf       one of several: the holder of Lease pilothouse-sink writes
  curl -k https://127.0.0.1:10266/readyz                  is every sink written to

A file that writes pods into Redis:
  sinks:
    - name: pods
      redis: {url: "redis://127.0.0.1:6379", stream: "k8s:{resource}"}
      resources: [{resource: v1/pods}]`,
    )
    .action(async (file: string, flags: RoleFlags) => {
      const { sinkRole } = await import("./run.ts");
      await sinkRole(file, flags);
    });
  command
    .command("schema")
    .description("write the JSON Schema of what consumers read, for each source of each sink")
    .argument("<file>", "the sinks, as docs/sinks.md shows")
    .option("--kubeconfig <file>", "how to reach the API server; absent: what kubectl would read")
    .action(async (file: string, _: unknown, own: Command) => {
      const { writeSchemas } = await import("./schemas.ts");
      await writeSchemas(file, own.optsWithGlobals<RoleFlags>());
    });
  addReplay(command);
}

function addReplay(sink: Command): void {
  const command = sink
    .command("replay")
    .description("send again what the consumers of sinks have read, while no instance runs")
    .argument("<file>", "the sinks, as docs/sinks.md shows")
    .option("--from-revision <revision>", "send the events after this resourceVersion", revision)
    .option("--until <revision>", "last resourceVersion to send; absent: the newest one", revision)
    .option("--all", "send the whole state, between the marks of a snapshot")
    .option("--sink <name>", "the one sink to replay; absent: all of the file");
  addApiFlags(command);
  addLeaseFlags(command, lease);
  command
    .addHelpText(
      "after",
      `
It holds the Lease of the sink's instances, and refuses while one of them runs.

Examples:
  pilothouse sink replay sinks.yaml --from-revision 81200 --kubeconfig sink.conf
  pilothouse sink replay sinks.yaml --all --sink pods --kubeconfig sink.conf`,
    )
    .action(async (file: string, flags: ReplayFlags) => {
      const { replaySinks } = await import("./replay.ts");
      await replaySinks(file, flags);
    });
}

function revision(text: string): string {
  if (/^[1-9]\d{0,18}$/.test(text)) return text;
  throw new InvalidArgumentError("a resourceVersion is a whole number from 1.");
}
