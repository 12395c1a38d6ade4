/** The flags by which hollow nodes play kwok's objects; of `hollow`, and with the prefix `hollow-` of `up`. */
import { type Command, InvalidArgumentError } from "commander";
import { commaList, gathered } from "./flag-values.ts";

export interface StageFlags {
  readonly stages: readonly string[];
  readonly enableCrds: readonly string[];
}

/** As of `up`. */
export interface HollowStageFlags {
  readonly hollowStages: readonly string[];
  readonly hollowEnableCrds: readonly string[];
}

const known = ["Stage"];

export function addStageFlags(command: Command, prefix: "" | "hollow-"): void {
  command
    .option(
      `--${prefix}stages <file>`,
      "YAML: Stages of kwok, played instead of the built-in life of their kinds; may be repeated; see docs/hollow.md",
      gathered,
      [],
    )
    .option(
      `--${prefix}enable-crds <kinds>`,
      `kinds of kwok that are also read from the API, once it serves them: ${known.join(", ")}`,
      enabledKinds,
      [],
    );
}

function enabledKinds(text: string): readonly string[] {
  const kinds = commaList(text);
  const other = kinds.find((kind) => !known.includes(kind));
  if (other === undefined) return kinds;
  throw new InvalidArgumentError(`${other} is not known; known: ${known.join(", ")}.`);
}
