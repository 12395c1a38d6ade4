/**
 * Every flag of kube-apiserver, kube-controller-manager, kube-scheduler 1.36.3 and etcd 3.6.8 is done, taken with
 * nothing to do, or refused with a reason; docs/flags.md says which, and is rewritten by
 * `node src/run/cmd/shared/stock-flags/stock-flags.test.ts --rewrite`.
 */
import assert from "node:assert/strict";
import type { Command, Option } from "commander";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { makeProgram } from "../../program.ts";
import { etcdFlags } from "./etcd.ts";
import { enabledGates, featureGates, featureRows } from "./feature-gates.ts";
import { kubeApiServerFlags } from "./kube-apiserver.ts";
import { kubeControllerManagerFlags } from "./kube-controller-manager.ts";
import { kubeSchedulerFlags } from "./kube-scheduler.ts";
import { checkStockFlag, type StockFlag } from "./flag-kinds.ts";

/** What a program's own --help, or its source, says of its flags. */
interface Recorded {
  readonly name: string;
  readonly kind: string;
  readonly fallback: string;
}

interface Role {
  readonly stock: string;
  readonly command: string;
  readonly flags: readonly StockFlag[];
}

const roles: readonly Role[] = [
  { stock: "kube-apiserver", command: "apiserver", flags: kubeApiServerFlags },
  {
    stock: "kube-controller-manager",
    command: "controller-manager",
    flags: kubeControllerManagerFlags,
  },
  { stock: "kube-scheduler", command: "scheduler", flags: kubeSchedulerFlags },
  { stock: "etcd", command: "etcd", flags: etcdFlags },
];

const page = new URL("../../../../../docs/flags.md", import.meta.url);

function recordedOf(stock: string): readonly Recorded[] {
  const text = readFileSync(new URL(`recorded/${stock}.tsv`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [name = "", kind = "", fallback = ""] = line.split("\t");
      return { name, kind, fallback };
    });
}

function commandOf({ command }: Role): Command {
  const found = makeProgram().commands.find((one) => one.name() === command);
  assert.ok(found, command);
  return found;
}

/** Those that the role does. */
function ownOptions(role: Role): ReadonlyMap<string, Option> {
  const taken = new Set(role.flags.map(({ name }) => `--${name}`));
  const options = commandOf(role).options.filter(
    ({ long, hidden }) => !(hidden && taken.has(long ?? "")),
  );
  return new Map(options.map((option) => [option.long ?? "", option]));
}

for (const role of roles) {
  test(`every flag of ${role.stock} has one class`, () => {
    const own = ownOptions(role);
    const tabled = role.flags.map(({ name }) => name);
    assert.deepEqual(
      tabled.filter((name, at) => tabled.indexOf(name) !== at),
      [],
      "named twice",
    );
    const known = new Set(tabled);
    const missing = recordedOf(role.stock).filter(
      ({ name }) => !own.has(`--${name}`) && !known.has(name) && name !== "help",
    );
    assert.deepEqual(missing, []);
    assert.deepEqual(
      tabled.filter((name) => own.has(`--${name}`)),
      [],
      "is done and in the table of those that are not",
    );
  });

  test(`the defaults of ${role.stock} are taken where a flag is not refused`, () => {
    const recorded = new Map(recordedOf(role.stock).map((one) => [one.name, one]));
    for (const flag of role.flags.filter(({ values }) => values?.length !== 0)) {
      const { fallback = "", kind = "" } = recorded.get(flag.name) ?? {};
      const text = fallback === "" && kind === "bool" ? "false" : fallback;
      if (text !== "")
        assert.doesNotThrow(() => checkStockFlag(flag, text), `${flag.name}=${text}`);
    }
  });

  test(`a flag of ${role.stock} that is refused says what serves instead`, () => {
    for (const flag of role.flags.filter(({ values }) => values !== undefined)) {
      assert.throws(
        () => checkStockFlag(flag, "true-or-what"),
        (error: Error) => flag.kind === "bool" || error.message.endsWith(`${flag.why}.`),
      );
    }
  });
}

test("docs/flags.md says of every flag what it does here", () => {
  const text = documentText();
  if (process.argv.includes("--rewrite")) writeFileSync(page, text);
  assert.equal(readFileSync(page, "utf8"), text);
});

test("a command line with such flags is taken, or refused by name", async () => {
  const refuses = async (line: string, reason: RegExp): Promise<void> => {
    const program = makeProgram();
    for (const command of program.commands)
      command.exitOverride().configureOutput({ writeErr: () => {} });
    await assert.rejects(program.parseAsync(line.split(" "), { from: "user" }), reason);
  };
  await refuses(
    "apiserver --service-account-signing-endpoint /x.sock",
    /It is not taken: give the key as --service-account-signing-key-file/,
  );
  await refuses("apiserver --storage-backend=etcd2", /It can only be etcd3/);
  await refuses("apiserver --profiling=maybe", /true or false/);
  await refuses(
    "scheduler --feature-gates=NoSuchGate=true",
    /unrecognized feature gate: NoSuchGate/,
  );
  await refuses(
    "etcd --listen-metrics-urls=https://127.0.0.1:2381",
    /need --listen-client-urls of https/,
  );
  await refuses("etcd --initial-cluster a=http://a:2380,b=http://b:2380", /one member alone/);
});

test("a feature gate is taken at the value that tells what is here", () => {
  assert.deepEqual(featureGates("WatchList=true,kube:AllAlpha=f"), [
    "WatchList=true",
    "kube:AllAlpha=f",
  ]);
  assert.throws(
    () => featureGates("WatchList=false"),
    /WatchList=false is not taken: it is always on here/,
  );
  assert.throws(() => featureGates("HPAScaleToZero=true"), /this feature is not here/);
  const gang = featureGates("GangScheduling=true");
  const why =
    "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]";
  assert.throws(() => enabledGates(gang), { message: `--feature-gates: ${why}` });
  const both = enabledGates(featureGates("GenericWorkload=true", gang));
  assert.deepEqual([...both].sort(), ["GangScheduling", "GenericWorkload"]);
  assert.deepEqual([...enabledGates(featureGates("GangScheduling=false", gang))], []);
  const shown = new Map([...featureRows(both)].map(([[name], value]) => [name, value]));
  assert.equal(shown.get("GangScheduling"), 1, "kubernetes_feature_enabled shows what flags set");
  assert.equal(shown.get("WorkloadAwarePreemption"), 0);
  assert.throws(() => featureGates("WatchList"), /missing bool value for feature gate WatchList/);
  assert.throws(() => featureGates("WatchList=yes"), /parsing "yes": invalid syntax/);
});

function documentText(): string {
  const parts = roles.map((role) => {
    const own = ownOptions(role);
    const lines = recordedOf(role.stock)
      .filter(({ name }) => name !== "help")
      .map(({ name }) => rowOf(name, own.get(`--${name}`), role));
    return `## ${role.stock}: \`pilothouse ${role.command}\`\n\n| flag | here | |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Flags of the stock programs

What each flag of kube-apiserver, kube-controller-manager and kube-scheduler 1.36.3 and of etcd 3.6.8 does here. *Done*: what it
does there. *Taken*: there is nothing to do, and one line at the start names it. *Only*: other values are refused. *Refused*: the
start fails and says what serves instead. \`pilothouse ROLE --help\` lists the role's own flags besides.

Rewritten by \`node src/run/cmd/shared/stock-flags/stock-flags.test.ts --rewrite\`, and checked by that test.

${parts.join("\n")}`;
}

function rowOf(name: string, option: Option | undefined, role: Role): string {
  if (option !== undefined) return `| \`--${name}\` | done | ${cell(option.description)} |`;
  const flag = role.flags.find((one) => one.name === name);
  assert.ok(flag, name);
  return `| \`--${name}\` | ${classOf(flag)} | ${cell(flag.why)} |`;
}

function classOf({ values }: StockFlag): string {
  if (values === undefined) return "taken";
  if (values.length === 0) return "refused";
  return `only ${values.map((value) => (value === "" ? "empty" : `\`${value}\``)).join(", ")}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
