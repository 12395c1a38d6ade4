/**
 * Flags of the stock programs that a role takes without doing anything with them, or refuses with the way that
 * serves instead: so that a command line which runs kube-apiserver, kube-controller-manager, kube-scheduler or
 * etcd is either taken with its meaning or refused by name, never changed without a word.
 */
import { type Command, Option } from "commander";
import { checkStockFlag, type FlagKind, type StockFlag } from "./flag-kinds.ts";

/** Returns flags. `names`: entries of `name:kind`. Without a kind, the flag takes text. */
function rows(names: string, rest: Pick<StockFlag, "values" | "why">): readonly StockFlag[] {
  return names
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [name = "", kind = "string"] = entry.split(":");
      return { name, kind: kind as FlagKind, ...rest };
    });
}

/** Returns flags that accept any value and have no effect. */
export function unused(names: string, why: string): readonly StockFlag[] {
  return rows(names, { why });
}

/** Returns flags that accept only `values`, which describe the fixed behavior here. */
export function fixed(names: string, values: readonly string[], why: string): readonly StockFlag[] {
  return rows(names, { values, why });
}

/** Returns flags that are refused with any value. */
export function refused(names: string, why: string): readonly StockFlag[] {
  return rows(names, { values: [], why });
}

/** Adds those of `flags` that `command` does not declare itself. --help lists them on two separate lines. */
export function addStockFlags(command: Command, flags: readonly StockFlag[]): void {
  const own = new Set(command.options.map(({ long }) => long));
  const added = flags.filter(({ name }) => !own.has(`--${name}`));
  const given = new Set<string>();
  for (const flag of added) command.addOption(optionOf(flag, given));
  command.addHelpText("after", () => helpText(command, added));
  command.hook("preAction", () => {
    if (given.size > 0) process.stderr.write(unusedText(given));
  });
}

function optionOf(flag: StockFlag, given: Set<string>): Option {
  const names = flag.name === "v" ? "-v, --v" : `--${flag.name}`;
  const option = new Option(`${names} [value]`, flag.why).hideHelp();
  if (flag.kind === "bool") option.preset("true");
  return option.argParser((text: string) => {
    checkStockFlag(flag, text);
    given.add(`--${flag.name}`);
    return text;
  });
}

function unusedText(given: ReadonlySet<string>): string {
  return `pilothouse: taken, with nothing to do here: ${[...given].toSorted().join(" ")}\n`;
}

function helpText(command: Command, added: readonly StockFlag[]): string {
  const help = command.createHelp();
  const names = (isRefused: boolean): string => {
    const some = added.filter(({ values }) => (values?.length === 0) === isRefused);
    return help.boxWrap(some.map(({ name }) => `--${name}`).join(" "), help.helpWidth ?? 80);
  };
  return [
    `\nTaken, with nothing to do here (docs/flags.md):\n${names(false)}`,
    `\nRefused, with the way that serves instead (docs/flags.md):\n${names(true)}`,
  ].join("\n");
}
