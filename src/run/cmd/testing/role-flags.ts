/** Flags of a role, parsed as on the command line, for tests that open a role themselves. */
import { must } from "#base/assert.ts";
import { makeProgram } from "../program.ts";

/** Parses flags. `Flags`: the type that the command's action takes. */
export function flagsOf<Flags>(name: string, ...given: readonly string[]): Flags {
  const command = makeProgram().commands.find((one) => one.name() === name);
  const { unknown } = must(command, `there is a command ${name}`).parseOptions([...given]);
  if (unknown.length > 0) throw new Error(`${name} takes no ${unknown.join(" ")}`);
  return must(command, "found above").opts() as Flags;
}
