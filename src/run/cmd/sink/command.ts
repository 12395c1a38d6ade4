/** The command `pilothouse sink`. */
import type { Command } from "commander";
import { addRoleFlags, type RoleFlags } from "../shared/role-flags.ts";

export function addSink(program: Command): void {
  const command = program
    .command("sink")
    .description(
      "write every change of chosen objects into NATS JetStream, Redis Streams or to HTTP",
    )
    .argument("<file>", "the sinks, as docs/sinks.md shows");
  addRoleFlags(command, { lease: "pilothouse-sink", port: 10_266 });
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
}
