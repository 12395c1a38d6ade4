/**
 * Flags of the long commands (benchmarks, soak): `--help` prints the usage; an unknown flag, or a value that
 * is not a number, is reported in one line with exit code 2.
 */
import { parseArgs } from "node:util";

export interface Flags<Name extends string> {
  /** Words that are no flags; none unless `words` was asked for. */
  readonly words: readonly string[];
  text(name: Name): string;
  /** What commas separate. */
  list(name: Name): readonly string[];
  /** A number of at least `least` (above 0 without it). */
  number(name: Name, least?: number): number;
  /** Ends the program. */
  refuse(problem: string): never;
}

/** `defaults` are all flags there are; the usage's first line begins with the command: `npm run x -- y`. */
export function flagsOf<Name extends string>(
  usage: string,
  defaults: Readonly<Record<Name, string>>,
  { words = false } = {},
): Flags<Name> {
  const refuse = (problem: string): never => {
    const [command] = usage.split(" [", 1);
    process.stderr.write(`${problem}; see ${command} --help\n`);
    process.exit(2);
  };
  const { values, positionals } = parsed(defaults, words, refuse);
  if (values["help"] === true) {
    process.stdout.write(`${usage.trimEnd()}\n`);
    process.exit(0);
  }
  const text = (name: Name): string => String(values[name]);
  return {
    words: positionals,
    text,
    list: (name) => text(name).split(","),
    number(name, least) {
      const value = Number(text(name));
      const fits = least === undefined ? value > 0 : value >= least;
      if (fits && text(name) !== "") return value;
      const bound = least === undefined ? "above 0" : `of at least ${least}`;
      return refuse(`--${name} takes a number ${bound}, not "${text(name)}"`);
    },
    refuse,
  };
}

function parsed(
  defaults: Readonly<Record<string, string>>,
  words: boolean,
  refuse: (problem: string) => never,
): { values: Record<string, unknown>; positionals: string[] } {
  const given = Object.entries(defaults).map(([name, value]) => [
    name,
    { type: "string" as const, default: value },
  ]);
  const help = { type: "boolean" as const, short: "h", default: false };
  const options = { ...Object.fromEntries(given), help };
  try {
    return parseArgs({ options, allowPositionals: words });
  } catch (error) {
    return refuse(firstSentence(error));
  }
}

/** Node goes on with advice on positional arguments. */
function firstSentence(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split(/\. (?=[A-Z])/)[0] ?? "";
}
