/** The command line of the one binary, with a subcommand per role. */
import { Command } from "commander";
import { addAutoscaler } from "./autoscaler/command.ts";
import { addCompat } from "./compat/command.ts";
import { addCoordinator } from "./coordinator/command.ts";
import { addDoctor } from "./doctor/command.ts";
import { addEtcd } from "./etcd/command.ts";
import { addInit } from "./init/command.ts";
import { addMigrate } from "./migrate/command.ts";
import { groupFlags, showDefaultsPlainly } from "./shared/help.ts";
import { productVersion } from "./shared/product.ts";
import { noteProcessFlags } from "./shared/shown-flags.ts";
import { addRegion } from "./region/command.ts";
import { addRelay } from "./relay/command.ts";
import { addApiServer } from "./apiserver/command.ts";
import { addControllerManager } from "./controller-manager/command.ts";
import { addHollow } from "./hollow/command.ts";
import { addScheduler } from "./scheduler/command.ts";
import { addSink } from "./sink/command.ts";
import { addStore } from "./store/command.ts";
import { addTypes } from "./resource-types/command.ts";
import { addUp } from "./up/command.ts";

/** Returns the program. Each command imports its code when it runs. */
export function makeProgram(): Command {
  const program = new Command("pilothouse")
    .description("A Kubernetes control plane: one commit, encoded once, read by a crowd.")
    .version(productVersion, "-v, --version")
    .showHelpAfterError("(run with --help to see what it takes)")
    // Options after a command belong to that command, such as its --version and its -v.
    .enablePositionalOptions()
    .exitOverride();
  showDefaultsPlainly(program);
  noteProcessFlags(program);
  addUp(program);
  addStore(program);
  addEtcd(program);
  addRelay(program);
  addApiServer(program);
  addScheduler(program);
  addControllerManager(program);
  addHollow(program);
  addAutoscaler(program);
  addSink(program);
  addCoordinator(program);
  addRegion(program);
  addMigrate(program);
  addInit(program);
  addTypes(program);
  addCompat(program);
  addDoctor(program);
  groupFlags(program);
  return program;
}
