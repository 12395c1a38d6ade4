/**
 * `npm run sim`: the etcd API over the embedded store under simulated faults, seed by seed.
 * Its flags are in `usage`.
 */
import { parseArgs } from "node:util";
import type { Log } from "#platform/log.ts";
import { again, campaign, type CampaignResult } from "./campaign.ts";
import { runSeed } from "./etcd-run.ts";
import type { SeedReport } from "./etcd-worker.ts";

const usage = `npm run sim -- [flags]: the etcd API over the embedded store under simulated faults, seed by seed

  --seeds N     how many (default 1000), from --from on (default 1)
  --seed N      one seed, with the server's log and every problem in full
  --seconds S   begin no seed later than this
  --threads N   (default 2)
  --help        this

A seed that breaks a promise prints the command that runs it again, and the exit code is 1.`;
const problemsShown = 5;
const textShown = 600;

const values = flags();

if (values.help) console.log(usage);
else if (values.seed === undefined) await many();
else await one(count("seed", values.seed));

function flags() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string", default: "1000" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        seconds: { type: "string", default: "86400" },
        threads: { type: "string", default: "2" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(problem: string): never {
  process.stderr.write(`${problem}; see npm run sim -- --help\n`);
  process.exit(2);
}

async function many(): Promise<void> {
  const first = count("from", values.from);
  const result = await campaign(
    {
      first,
      last: first + count("seeds", values.seeds) - 1,
      threads: count("threads", values.threads),
      secondsMax: count("seconds", values.seconds),
    },
    progress,
  );
  print(result);
  if (result.failed.length > 0 || result.runs === 0) process.exitCode = 1;
}

function progress(runs: number, { seed, problems }: SeedReport): void {
  if (problems.length > 0) {
    const shown = problems.slice(0, problemsShown).map((text) => text.slice(0, textShown));
    process.stderr.write(`seed ${seed} broke ${problems.length}:\n  ${shown.join("\n  ")}\n`);
    process.stderr.write(`  again: ${again(seed)}\n`);
  } else if (runs % 100 === 0) process.stderr.write(`${runs} seeds\n`);
}

function print({ runs, failed, tally }: CampaignResult): void {
  console.log(`${runs} seeds, ${failed.length} failed`);
  for (const [name, total] of Object.entries(tally)) {
    console.log(`${name.padEnd(34)} ${String(total).padStart(12)}`);
  }
  for (const { seed } of failed) console.log(`again: ${again(seed)}`);
}

async function one(seed: number): Promise<void> {
  const { history, problems } = await runSeed(seed, {}, stderrLog());
  for (const { guarantee, text } of problems) console.log(`${guarantee}: ${text}`);
  const { operations, watches } = history;
  console.log(`seed ${seed}: ${operations.length} operations, ${watches.length} watches`);
  console.log(problems.length === 0 ? "every promise held" : `${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}

function stderrLog(): Log {
  const line = (message: string, fields?: object): void =>
    void process.stderr.write(`${message} ${JSON.stringify(fields ?? {})}\n`);
  const log: Log = { debug: line, info: line, warn: line, error: line, child: () => log };
  return log;
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  return refuse(`--${name} must be a number above 0, not "${text}"`);
}
