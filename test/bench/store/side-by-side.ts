/** One load on both servers in turn, several times over; medians, and the ratio beside what is asked. */
import type { Sample } from "./sample.ts";
import { loadOn, type Load, type Server } from "./servers.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "./table.ts";

export interface Asked {
  /** Calls a second, ours over etcd's. */
  readonly ratioMin?: number;
  /** Ours may be no worse. */
  readonly p99?: true;
}

export interface Point {
  readonly name: string;
  readonly load: Load;
  readonly asked: Asked;
}

export interface Plan {
  readonly title: string;
  /** What one call is, for the column heads. */
  readonly unit: string;
  readonly runs: number;
  readonly points: readonly Point[];
}

/** The generator used so much of its core that it may be what was measured. */
const busyGenerator = 0.9;

/**
 * With one client, ours serves a put in 110 us of CPU in its first seconds, and in 70 from the fiftieth
 * thousand on: until then V8 is compiling. What is compared is servers that have been up for a while.
 */
const warmSeconds = 10;
/** Before each run: the generator is a new process, whose own code is slow at first. */
const warmRunSeconds = 2;

export async function sideBySide(servers: readonly Server[], plan: Plan): Promise<void> {
  await warmUp(servers, plan);
  const rows: Cell[][] = [];
  for (const point of plan.points) {
    const samples = servers.map((): Sample[] => []);
    for (let run = 0; run < plan.runs; run++) {
      for (const [i, server] of servers.entries()) {
        progress(`${plan.title}: ${point.name}, ${server.name}, run ${run + 1} of ${plan.runs}`);
        samples[i]?.push(await loadOn(server, point.load, warmRunSeconds));
      }
    }
    rows.push(...pointRows(servers, point, samples));
  }
  progressDone();
  const { unit } = plan;
  const head = ["load", "server", `${unit}/s`, "lowest - highest", "p50 ms", "p99 ms"];
  const more = [`CPU us/${unit}`, "RSS MiB", "x etcd", "asked", "p99 / etcd", "verdict"];
  printTable(plan.title, [...head, ...more], rows);
}

async function warmUp(servers: readonly Server[], { title, points }: Plan): Promise<void> {
  const [first] = points;
  if (first === undefined) return;
  for (const server of servers) {
    progress(`${title}: ${server.name} warms up`);
    await loadOn(server, { ...first.load, seconds: warmSeconds });
  }
}

function pointRows(
  servers: readonly Server[],
  { name, asked }: Point,
  samples: readonly (readonly Sample[])[],
): Cell[][] {
  const medians = samples.map(medianOf);
  return servers.map((server, i) => {
    const mine = medians[i] as Sample;
    const rates = (samples[i] ?? []).map(({ perSecond }) => perSecond);
    const spread = `${figure(Math.min(...rates))} - ${figure(Math.max(...rates))}`;
    const busy = mine.generatorCpu > busyGenerator ? " (generator)" : "";
    const cells = [mine.perSecond, spread, mine.p50Ms, mine.p99Ms, mine.cpuUsPerCall, mine.rssMiB];
    const verdict = i === 0 ? verdictOf(mine, medians[1], asked) : ["", "", ""];
    const wanted = i === 0 && asked.ratioMin !== undefined ? `>= ${asked.ratioMin}` : "";
    const [ratio = "", p99 = "", word = ""] = verdict;
    return [name, server.name, ...cells, ratio, wanted, p99, `${word}${busy}`];
  });
}

function verdictOf(ours: Sample, theirs: Sample | undefined, asked: Asked): string[] {
  if (theirs === undefined) return ["", "", ""];
  const ratio = ours.perSecond / theirs.perSecond;
  const p99 = ours.p99Ms / theirs.p99Ms;
  const short = [
    ...(asked.ratioMin !== undefined && ratio < asked.ratioMin ? ["rate"] : []),
    ...(asked.p99 && p99 > 1 ? ["p99"] : []),
  ];
  const word = short.length === 0 ? "met" : `short: ${short.join(", ")}`;
  return [figure(ratio), figure(p99), word];
}

/** Each figure's own median. */
function medianOf(samples: readonly Sample[]): Sample {
  const of = (field: keyof Sample): number => median(samples.map((sample) => sample[field]));
  return {
    perSecond: of("perSecond"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    maxMs: of("maxMs"),
    calls: of("calls"),
    cpuUsPerCall: of("cpuUsPerCall"),
    rssMiB: of("rssMiB"),
    generatorCpu: of("generatorCpu"),
  };
}
