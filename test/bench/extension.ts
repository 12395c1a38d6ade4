/** `npm run bench -- extension`: see `usage`. Servers are processes of their own; figures are theirs, from /proc. */
import { noStock, stockPrograms } from "../process/peers.ts";
import { matchingWebhook, policiesThatDoNotMatch } from "./extension/admission.ts";
import { type Figures, FigureTable } from "./extension/figures.ts";
import { manyDefinitions } from "./extension/many-definitions.ts";
import { openOurs, openStock, type Target } from "./extension/target.ts";
import { lists, rulesAlone, writes } from "./extension/writes.ts";
import { flagsOf } from "./flags.ts";

const usage = `npm run bench -- extension [--runs 5] [--parts definitions,writes,lists,policies,webhook,rules]

What custom resources, their rules, policies and webhooks cost a whole "pilothouse up", and a stock kube-apiserver with its
etcd where there is one (PILOTHOUSE_KUBE_APISERVER, and etcd on the PATH). Each part has a fresh server; medians of the runs.

  --runs N          runs of each part
  --parts NAMES     definitions (and OpenAPI), writes (and rules in them), lists, policies, webhook, rules (in this process)
  --definitions N   definitions, in groups of ten
  --objects N       objects in the lists
  --writes N        writes of each kind in a round; a run has five rounds
  --alone yes       no stock server
`;
const flags = flagsOf(usage, {
  runs: "5",
  parts: "definitions,writes,lists,policies,webhook,rules",
  definitions: "1000",
  objects: "10000",
  writes: "1000",
  alone: "",
});

type Part = (target: Target, figures: Figures) => Promise<void>;

const parts: Readonly<Record<string, Part>> = {
  definitions: (target, figures) => manyDefinitions(target, flags.number("definitions"), figures),
  writes: (target, figures) => writes(target, flags.number("writes"), figures),
  lists: (target, figures) => lists(target, flags.number("objects"), figures),
  policies: (target, figures) => policiesThatDoNotMatch(target, flags.number("writes"), figures),
  webhook: (target, figures) => matchingWebhook(target, flags.number("writes"), figures),
};

const programs = flags.text("alone") === "" ? stockPrograms() : undefined;
const table = new FigureTable();
const opens: (() => Promise<Target>)[] = [openOurs];
if (programs !== undefined) opens.push(() => openStock(programs));
console.log(programs === undefined ? `alone: ${noStock}` : "beside a stock kube-apiserver");
try {
  for (let run = 0; run < flags.number("runs"); run++) {
    for (const name of flags.list("parts")) await runPart(name);
  }
} finally {
  const names =
    programs === undefined ? (["pilothouse"] as const) : (["pilothouse", "stock"] as const);
  console.log(table.lines(names).join("\n"));
}

async function runPart(name: string): Promise<void> {
  if (name === "rules") return rulesAlone(table.of("pilothouse"));
  const part = parts[name] ?? flags.refuse(`no part "${name}"`);
  for (const open of opens) {
    const target = await open();
    try {
      await part(target, table.of(target.name));
    } finally {
      await target.stop();
    }
  }
}
