/** The command line: one binary, a subcommand per role. */
import { Command } from "commander";
import { addDoctor } from "./doctor-command.ts";
import { addInit } from "./init/command.ts";
import { addMigrate } from "./migrate-command.ts";
import { productVersion } from "./product.ts";
import { addRelay } from "./relay-command.ts";
import { addRoles } from "./roles/commands.ts";
import { addStore } from "./store-command.ts";
import { addTypes } from "./types-command.ts";
import { addUp } from "./up-command.ts";

/** Its commands load their code when they run. */
export function makeProgram(): Command {
  const program = new Command("pilothouse")
    .description("A Kubernetes control plane: one commit, encoded once, read by a crowd.")
    .version(productVersion, "-v, --version")
    .showHelpAfterError("(run with --help to see what it takes)")
    .exitOverride();
  addUp(program);
  addStore(program);
  addRelay(program);
  addRoles(program);
  addMigrate(program);
  addInit(program);
  addTypes(program);
  addDoctor(program);
  return program;
}
