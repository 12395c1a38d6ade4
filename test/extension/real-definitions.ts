/** `npm run real-definitions`: see `usage`. One `up` serves all projects, one after the other. */
import { join } from "node:path";
import { given } from "#base/given.ts";
import { flagsOf } from "../bench/flags.ts";
import { startStock } from "../differential/servers.ts";
import { noStock, stockPrograms } from "../process/peers.ts";
import {
  type CommandResult,
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  run,
  startUp,
  temporaryDirectory,
} from "../process/harness.ts";
import {
  definitionFiles,
  definitionsOf,
  fetchModule,
  type Project,
  projects,
  type Sample,
  samplesOf,
} from "./published.ts";

const usage = `npm run real-definitions -- [--only ""]

The definitions that projects publish are fetched as Go modules and applied to "pilothouse up" with kubectl:
client-side and server-side, each twice, with the projects' own samples, explained and deleted. A stock kube-apiserver, where there
is one, is asked the same: a sample it refuses in the same words is right to be refused, and what kubectl explains must be equal. Prints
a table and what was found otherwise; ends with 1 then. Skips, saying why, what cannot be had.

  --only NAMES   projects, by parts of their names, comma separated; none: all
`;

interface Row {
  readonly project: string;
  readonly definitions: number;
  readonly seconds: number;
  readonly samples: string;
  readonly faults: readonly string[];
}

/** What kubectl says of a definition that is too long for its own annotation, wherever it is applied. */
const tooLong = /metadata\.annotations: Too long: may not be more than 262144 bytes/;

const only = flagsOf(usage, { only: "" }).list("only");
const kubectlPath = findKubectl();
const missing = run("go", ["version"], {}).code === 0 ? noKubectl : "no go on the PATH";
if (kubectlPath === undefined || missing !== noKubectl) {
  console.log(`skipped: ${missing}`);
  process.exit(0);
}
const scratch = temporaryDirectory("real-definitions");
const plane = await startUp(["--data-dir", join(scratch, "data"), "--port", "0", "--nodes", "0"]);
const env = kubectlEnvironment(plane.kubeconfig, scratch);
const programs = stockPrograms();
const stock = programs === undefined ? undefined : await startStock(programs);
const stockEnv = stock === undefined ? undefined : kubectlEnvironment(stock.kubeconfig, scratch);
console.log(stock === undefined ? `alone: ${noStock}` : "beside a stock kube-apiserver");
let faults = 0;
try {
  console.log(
    "| project | definitions | Established after s | samples accepted |\n|---|---|---|---|",
  );
  for (const project of projects.filter(({ name }) => only.some((part) => name.includes(part)))) {
    const fetched = fetchModule(project.module, scratch);
    if ("reason" in fetched) {
      console.log(`| ${project.name} | skipped: ${fetched.reason} | | |`);
      continue;
    }
    const row = tryProject(project, fetched.folder);
    faults += row.faults.length;
    console.log(
      `| ${row.project} | ${row.definitions} | ${row.seconds.toFixed(1)} | ${row.samples} |`,
    );
    for (const fault of row.faults) console.log(`  found: ${fault}`);
  }
} finally {
  await plane.stop();
  await stock?.stop();
  removeDirectory(scratch);
}
process.exit(faults === 0 ? 0 : 1);

function tryProject(project: Project, folder: string): Row {
  const files = definitionFiles(folder, project);
  const definitions = definitionsOf(files);
  const names = definitions.map(({ metadata }) => metadata.name);
  const named = files.flatMap((path) => ["-f", path]);
  const found: string[] = [];
  const expect = (holds: boolean, text: string): void => void (holds || found.push(text));

  tryClientSide(named, names, expect);
  const startedMs = performance.now();
  const first = kubectl(["apply", "--server-side", ...named]);
  expect(first.code === 0, `apply: ${first.stderr}`);
  const wait = ["wait", "--for=condition=Established", "--timeout=10s", "crd", ...names];
  const established = kubectl(wait);
  const seconds = (performance.now() - startedMs) / 1000;
  asStock(["apply", "--server-side", ...named]);
  asStock(wait);
  expect(established.code === 0, `not Established: ${established.stderr}`);
  const before = versionsOf(["crd", ...names]);
  expect(kubectl(["apply", "--server-side", ...named]).code === 0, "second apply failed");
  expect(before === versionsOf(["crd", ...names]), "second apply wrote");
  for (const { spec } of definitions) {
    for (const { name, served } of spec.versions) {
      if (served) tryExplain(spec.group, name, spec.names, expect);
    }
  }
  const samples = samplesOf(folder, project, definitions);
  const accepted = samples.filter((sample) => trySample(sample, expect)).length;
  const deleted = kubectl(["delete", "--timeout=60s", ...named]);
  asStock(["delete", "--timeout=60s", ...named]);
  expect(deleted.code === 0, `delete: ${deleted.stderr}`);
  const counted = samples.length === 0 ? "none published" : `${accepted} of ${samples.length}`;
  return {
    project: project.name,
    definitions: names.length,
    seconds,
    samples: counted,
    faults: found,
  };
}

type Expect = (holds: boolean, text: string) => void;

/** Leaves no definition. */
function tryClientSide(named: readonly string[], names: readonly string[], expect: Expect): void {
  const first = kubectl(["apply", ...named]);
  const there = asStock(["apply", ...named]);
  const problems = first.stderr.split("\n").filter((line) => line !== "" && !tooLong.test(line));
  const holds = there === undefined ? problems.length === 0 : isSame(first.stderr, there.stderr);
  expect(holds, `client-side apply: ${problems.join("; ")}`);
  const before = versionsOf(["crd", ...names, "--ignore-not-found"]);
  kubectl(["apply", ...named]);
  expect(
    before === versionsOf(["crd", ...names, "--ignore-not-found"]),
    "second client-side apply wrote",
  );
  kubectl(["delete", "--ignore-not-found", "--timeout=60s", ...named]);
  asStock(["delete", "--ignore-not-found", "--timeout=60s", ...named]);
}

/** A stock server finds members of maps in no order, and of several unknown ones in a map any one. */
function isSame(ours: string, stock: string): boolean {
  const anyName = /\.[^.]*(?=: field not declared in schema)/g;
  const linesOf = (text: string): string =>
    text.replace(anyName, ".*").split("\n").toSorted().join("\n");
  return linesOf(ours) === linesOf(stock);
}

function tryExplain(
  group: string,
  version: string,
  { kind, plural }: { readonly kind: string; readonly plural: string },
  expect: Expect,
): void {
  const question = ["explain", plural, `--api-version=${group}/${version}`, "--recursive"];
  const { stdout, stderr } = kubectl(question);
  untilPublished(group, version, kind);
  const there = asStock(question);
  if (there !== undefined) {
    expect(stdout === there.stdout, `explain ${plural}.${group} ${version}: not as a stock server`);
    return;
  }
  const hasAll =
    new RegExp(`^KIND: +${kind}$`, "m").test(stdout) &&
    new RegExp(`^VERSION: +${version}$`, "m").test(stdout) &&
    /^FIELDS:\n {2}apiVersion\t<string>/m.test(stdout);
  expect(hasAll, `explain ${plural}.${group} ${version}: ${stderr}${stdout.slice(0, 200)}`);
}

/** A stock server publishes OpenAPI some time after a definition is Established. */
function untilPublished(group: string, version: string, kind: string): void {
  const question = ["get", "--raw", `/openapi/v3/apis/${group}/${version}`];
  for (let asked = 0; asked < 200; asked++) {
    const answer = asStock(question);
    if (answer === undefined || answer.stdout.includes(`"kind":"${kind}"`)) return;
  }
}

/** Twice: the second writes nothing. */
function trySample(sample: Sample, expect: Expect): boolean {
  const { kind, metadata } = sample;
  const what = `${kind} ${metadata.name}`;
  const { namespace } = metadata;
  if (namespace !== undefined) {
    kubectl(["create", "namespace", namespace]);
    asStock(["create", "namespace", namespace]);
  }
  const input = JSON.stringify(sample);
  const apply = ["apply", "--server-side", "-o", "json", "-f", "-"];
  const first = kubectl(apply, input);
  const there = asStock(apply, input);
  if (there !== undefined && first.code !== 0) {
    expect(
      isSame(first.stderr, there.stderr),
      `sample ${what}: ${first.stderr} and not ${there.stderr}`,
    );
    return false;
  }
  expect(first.code === 0, `sample ${what}: ${first.stderr}`);
  if (first.code !== 0) return false;
  expect(there === undefined || there.code === 0, `sample ${what}: refused by a stock server`);
  const second = kubectl(apply, input);
  expect(
    resourceVersionOf(first) === resourceVersionOf(second),
    `sample ${what}: applied again, it wrote`,
  );
  return true;
}

function resourceVersionOf({ stdout }: CommandResult): string {
  const { metadata } = JSON.parse(stdout) as { metadata: { resourceVersion: string } };
  return metadata.resourceVersion;
}

function versionsOf(what: readonly string[]): string {
  const columns = "custom-columns=NAME:.metadata.name,VERSION:.metadata.resourceVersion";
  return kubectl(["get", ...what, "-o", columns]).stdout;
}

/** Undefined: there is no stock server. */
function asStock(args: readonly string[], input?: string): CommandResult | undefined {
  if (stockEnv === undefined) return undefined;
  return run(kubectlPath ?? "", args, { env: stockEnv, ...given({ input }) });
}

function kubectl(args: readonly string[], input?: string): CommandResult {
  return run(kubectlPath ?? "", args, { env, ...given({ input }) });
}
