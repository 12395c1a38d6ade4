/**
 * Command lines that others write for the stock programs are taken as they are: recorded/lines/*.txt, each with its
 * source. A line that begins with `!` is refused by its flag's name.
 */
import assert from "node:assert/strict";
import { type Command, CommanderError } from "commander";
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { configFileArguments } from "../../etcd/config-file.ts";
import { makeProgram } from "../../program.ts";
import { UsageError } from "../usage-error.ts";

const folder = new URL("recorded/lines/", import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));

const commands: Readonly<Record<string, string>> = {
  "kube-apiserver": "apiserver",
  "kube-controller-manager": "controller-manager",
  "kube-scheduler": "scheduler",
  etcd: "etcd",
};

/** Of each program: its lines. */
function sectionsOf(file: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of readFileSync(new URL(file, folder), "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith(" ")) current.push(line.trim().replace("=recorded/", `=${here}/recorded/`));
    else sections.set(line, (current = []));
  }
  return sections;
}

function commandOf(program: string): Command {
  const found = makeProgram().commands.find((one) => one.name() === commands[program]);
  assert.ok(found, program);
  return found.exitOverride().configureOutput({ writeErr: () => undefined });
}

/** @returns how often the command would have been run. Rejects with what is wrong. */
async function taken(command: Command, flags: readonly string[]): Promise<number> {
  let ran = 0;
  command.action(() => void (ran += 1));
  await command.parseAsync([...flags], { from: "user" });
  return ran;
}

const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));

for (const file of files) {
  for (const [program, lines] of sectionsOf(file)) {
    if (program.endsWith(" environment")) continue;
    test(`${file}: ${program} is started with these flags`, async () => {
      const flags = lines.filter((line) => !line.startsWith("! "));
      assert.equal(await taken(commandOf(program), flags), 1);
    });

    for (const line of lines.filter((one) => one.startsWith("! "))) {
      const flag = line.slice(2);
      test(`${file}: ${program} refuses ${flag.split("=")[0]} by its name`, async () => {
        await assert.rejects(taken(commandOf(program), [flag]), (error: Error) => {
          assert.ok(error instanceof CommanderError || error instanceof UsageError, String(error));
          return error.message.includes(flag.split("=")[0] ?? "");
        });
      });
    }
  }
}

test("every file of command lines names its source", () => {
  for (const file of files)
    assert.match(
      readFileSync(new URL(file, folder), "utf8"),
      /^# .*(Source: |kubeadm 1\.36)/m,
      file,
    );
});

test("etcd's environment counts where a flag is not given", async (t) => {
  const lines = sectionsOf("kops.txt").get("etcd environment") ?? [];
  assert.ok(lines.length > 2);
  t.after(() => {
    for (const line of lines) delete process.env[line.split("=")[0] ?? ""];
  });
  for (const line of lines) process.env[line.split("=")[0] ?? ""] = line.split("=")[1];
  const command = commandOf("etcd");
  await taken(command, ["--listen-metrics-urls=http://127.0.0.1:1"]);
  const { listenMetricsUrls, listenClientHttpUrls } = command.opts();
  assert.deepEqual(listenMetricsUrls, [{ isTls: false, address: "127.0.0.1:1" }]);
  assert.deepEqual(listenClientHttpUrls, [{ isTls: false, address: "0.0.0.0:8082" }]);
});

test("etcd's file of configuration stands for the flags in it", async () => {
  const flags = configFileArguments(`${here}/recorded/etcd-rke2.yaml`);
  const command = commandOf("etcd");
  assert.equal(await taken(command, flags), 1);
  const { certFile, clientCertAuth, experimentalWatchProgressNotifyInterval } = command.opts();
  assert.equal(certFile, "/var/lib/rancher/rke2/server/tls/etcd/server-client.crt");
  assert.equal(clientCertAuth, true);
  assert.equal(experimentalWatchProgressNotifyInterval, 5_000);
});
