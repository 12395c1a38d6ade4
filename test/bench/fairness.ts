/** `npm run bench -- fairness`: see `usage`. */
import { type Beside, FairnessWorld } from "../process/fairness/world.ts";
import { flagsOf } from "./flags.ts";

const usage = `npm run bench -- fairness [--tenants 50] [--in-flight 200] [--objects 2000] [--bytes 2500] [--seconds 20] [--rounds 3]

How long fifty quiet tenants and ten leader elections wait: by themselves; beside one client with 200 whole lists in flight;
and beside the same client at the level exempt, where it waits for nobody. Medians of rounds are printed.

  --tenants N    quiet tenants, two requests a second each
  --in-flight N  lists of the one client
  --objects N    objects of the list
  --bytes N      of each object
  --seconds N    of a measurement
  --rounds N     measurements of each kind

Server, tenants and flood are processes of their own, and share the machine's cores.
`;
const flags = flagsOf(usage, {
  tenants: "50",
  "in-flight": "200",
  objects: "2000",
  bytes: "2500",
  seconds: "20",
  rounds: "3",
});
const inFlight = flags.number("in-flight");
const ms = flags.number("seconds") * 1_000;
const rounds = flags.number("rounds");

type Figures = Readonly<Record<string, number>>;

const world = await FairnessWorld.start({
  tenants: flags.number("tenants"),
  elections: 10,
  objects: flags.number("objects"),
  objectBytes: flags.number("bytes"),
});
try {
  await main();
} finally {
  await world.stop();
}
process.exit(0);

async function main(): Promise<void> {
  await world.undisturbed(2_000);
  const undisturbed: Figures[] = [];
  const beside: Figures[] = [];
  const exempt: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    undisturbed.push({ ...(await world.undisturbed(ms)) });
    beside.push(figuresOf(await world.flooded(inFlight, ms)));
  }
  await world.exempt();
  for (let round = 0; round < rounds; round++) {
    exempt.push(figuresOf(await world.flooded(inFlight, ms)));
  }
  const runs = { undisturbed, beside, exempt };
  const all = Object.fromEntries(
    Object.entries(runs).map(([name, figures]) => [name, medians(figures)]),
  );
  console.table(all);
  console.log(JSON.stringify(all));
}

function figuresOf({ quiet, flood }: Beside): Figures {
  const { answered, refused, bytes } = flood;
  const mbPerSecond = bytes / 1e6 / (ms / 1_000);
  return { ...quiet, listsAnswered: answered, listsRefused: refused, mbPerSecond };
}

/** Of each figure by itself. */
function medians(runs: readonly Figures[]): Figures {
  const names = Object.keys(runs[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const values = runs.map((run) => run[name] ?? 0).toSorted((a, b) => a - b);
      return [name, Number((values[Math.floor(values.length / 2)] ?? 0).toFixed(1))];
    }),
  );
}
