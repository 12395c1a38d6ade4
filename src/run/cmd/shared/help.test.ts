/** What every command's --help keeps to. */
import assert from "node:assert/strict";
import type { Command } from "commander";
import { test } from "node:test";
import { makeProgram } from "../program.ts";
import { durationText } from "./flag-values.ts";

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

const commands = everyCommand(makeProgram());

/** Without examples, which are command lines. */
function helpOf(command: Command): string {
  return command.helpInformation();
}

test("a default is a duration, a size or a grouped number, and never an empty list", () => {
  for (const command of commands) {
    const defaults = [
      ...helpOf(command)
        .replaceAll(/\s+/g, " ")
        .matchAll(/\(([^()]*default: [^()]*)\)/g),
    ];
    for (const [, text = ""] of defaults) {
      assert.doesNotMatch(text, /\[\]|\{\}|\[object/, `${command.name()}: ${text}`);
      assert.doesNotMatch(text, /default: \d{6,}/, `${command.name()}: ${text}`);
    }
    for (const option of command.options) {
      if (typeof option.defaultValue !== "number" || option.defaultValue < 1_000) continue;
      if (option.long?.endsWith("port") === true || option.hidden) continue;
      const shown = command.createHelp().optionDescription(option);
      assert.doesNotMatch(shown, /default: \d{4,}(?:,|\)|$)/, `${command.name()} ${option.long}`);
    }
  }
});

test("flags of a long command stand in groups, each with a sentence", () => {
  for (const command of commands.filter(({ options }) => options.length > 15)) {
    const headings = helpOf(command).match(/^[A-Z][\w ]+:$/gm) ?? [];
    assert.ok(headings.length > 3, `${command.name()}: ${headings.join(" ")}`);
  }
  for (const command of commands)
    for (const { long, description } of command.options)
      assert.notEqual(description.trim(), "", `${command.name()} ${long}`);
});

test("a duration is shown as Go shows it", () => {
  const shown = [0, 250, 5_000, 60_000, 300_000, 31_536_000_000].map(durationText);
  assert.deepEqual(shown, ["0s", "250ms", "5s", "1m0s", "5m0s", "8760h0m0s"]);
});
