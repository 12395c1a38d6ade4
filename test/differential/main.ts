/** `npm run differential`: our answers beside a stock kube-apiserver's; see `usage`. */
import { compareCase, type Difference, show } from "./compare.ts";
import type { AdmissionFlags, Recorded, Suite } from "./exchange.ts";
import { readGolden, writeGolden } from "./golden.ts";
import { isKnown } from "./known.ts";
import { writeOpen } from "./open.ts";
import { runSuite } from "./run.ts";
import { startOurs, startStock, type Server } from "./servers.ts";
import { suites } from "./suites.ts";
import { noStock, stockPrograms, type StockPrograms } from "../process/peers.ts";

type Answers = Readonly<Record<string, readonly Recorded[]>>;

const usage = `npm run differential -- [flags] [suite ...]

Our answers against the recorded ones of a stock kube-apiserver; the differences are printed, and the exit
code is 1 where there are any. Suites, all without a name: ${suites.map(({ name }) => name).join(", ")}.

  --record        ask a stock server and rewrite the recorded answers
  --only-record   with --record: do not compare
  --live          compare with a stock server without keeping its answers
  --accept        keep what differs as the list of known differences (all suites)
  --help          this

Stock servers need the stock programs: ${noStock}
`;
const known = ["--record", "--only-record", "--live", "--accept", "--help"];
const flags = process.argv.slice(2).filter((word) => word.startsWith("--"));
const names = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const all = suites;
checkWords();
const chosen = names.length === 0 ? suites : all.filter(({ name }) => names.includes(name));

await main();

function checkWords(): void {
  const unknown =
    flags.find((flag) => !known.includes(flag)) ??
    names.find((name) => !all.some((suite) => suite.name === name));
  if (unknown === undefined && !flags.includes("--help")) return;
  if (unknown !== undefined) process.stderr.write(`${unknown} is no flag and no suite\n\n`);
  process.stdout.write(usage);
  process.exit(unknown === undefined ? 0 : 2);
}

async function main(): Promise<void> {
  const stock = flags.some((flag) => flag === "--record" || flag === "--live")
    ? await answersOf((flags) => startStock(programs(), flags))
    : undefined;
  if (stock !== undefined && flags.includes("--record"))
    for (const suite of chosen) writeGolden(suite.name, stock.get(suite.name) ?? {});
  if (flags.includes("--only-record")) return;
  const ours = await answersOf((flags) => startOurs(0, flags));
  const left: Difference[] = [];
  for (const suite of chosen) {
    const expected = stock?.get(suite.name) ?? readGolden(suite.name);
    left.push(...report(suite, expected, ours.get(suite.name) ?? {}));
  }
  if (flags.includes("--accept")) writeOpen(left);
  console.log(`${left.length} differences`);
  process.exitCode = left.length === 0 ? 0 : 1;
}

function programs(): StockPrograms {
  const found = stockPrograms();
  if (found === undefined) throw new Error(noStock);
  return found;
}

async function answersOf(
  start: (flags?: AdmissionFlags) => Promise<Server>,
): Promise<ReadonlyMap<string, Answers>> {
  const answers = new Map<string, Answers>();
  for (const [flags, group] of Map.groupBy(chosen, ({ admission }) => admission)) {
    const server = await start(flags);
    try {
      for (const suite of group) answers.set(suite.name, await runSuite(server, suite));
    } finally {
      await server.stop();
    }
  }
  return answers;
}

function report(suite: Suite, stock: Answers, ours: Answers): readonly Difference[] {
  const found = suite.cases.flatMap(({ name }) =>
    compareCase(`${suite.name}: ${name}`, stock[name] ?? [], ours[name] ?? []),
  );
  const unknown = found.filter((difference) => !isKnown(difference));
  for (const difference of unknown) console.log(show(difference));
  return unknown;
}
