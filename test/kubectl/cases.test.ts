/**
 * Every script in cases/ against one `pilothouse up` with the real kubectl: the acceptance suite.
 * Scripts run in file order in one cluster, each in a namespace it makes itself.
 * With PILOTHOUSE_THROUGH_RELAY=1 kubectl speaks to a relay that mirrors all there is, and sees the same.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as harness from "../process/harness.ts";
import { mismatch, parseScript } from "./script.ts";

const here = dirname(fileURLToPath(import.meta.url));
const kubectl = harness.findKubectl();
const scripts = readdirSync(join(here, "cases"))
  .filter((name) => name.endsWith(".txt"))
  .sort();
const only = process.env["PILOTHOUSE_CASE"];
const throughRelay = process.env["PILOTHOUSE_THROUGH_RELAY"] === "1";
const relayFlags = throughRelay ? ["--relay", "127.0.0.1:0", "--relay-resources", "all"] : [];
const skip = kubectl === undefined ? harness.noKubectl : false;

describe("kubectl", { skip }, () => {
  const directory = harness.temporaryDirectory("kubectl");
  let up: harness.Running;
  let kubeconfig: string;
  before(async () => {
    const flags = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "5"];
    up = await harness.startUp([...flags, ...relayFlags]);
    kubeconfig = throughRelay ? relayKubeconfig(up, directory) : up.kubeconfig;
  });
  after(async () => {
    assert.equal(await up.stop(), 0, up.output());
    harness.removeDirectory(directory);
  });

  for (const script of scripts.filter((name) => only === undefined || name.includes(only))) {
    test(script.replace(/\.txt$/, ""), () => {
      const failures = parseScript(readFileSync(join(here, "cases", script), "utf8")).flatMap(
        (step) => {
          const failure = runStep(step.command, step.expected, step.exitCode);
          return failure === undefined
            ? []
            : [`${script}:${step.line} ${step.comment}\n${failure}`];
        },
      );
      assert.equal(failures.length, 0, `\n${failures.join("\n\n")}`);
    });
  }

  function runStep(
    command: string,
    expected: readonly string[],
    exitCode: number,
  ): string | undefined {
    const env = harness.kubectlEnvironment(kubeconfig, directory);
    const shell = `kubectl() { command ${kubectl} "$@"; }; ${command}`;
    const result = harness.run("bash", ["-c", shell], { cwd: here, env });
    const lines = `${result.stdout}${result.stderr}`.split("\n").map((line) => line.trimEnd());
    while (lines.at(-1) === "") lines.pop();
    const wrong = mismatch(expected, lines);
    if (wrong === undefined && result.code === exitCode) return undefined;
    const why = wrong ?? `exit code ${result.code}, expected ${exitCode}`;
    return `  $ ${command}\n  ${why}\n  --- output:\n  ${lines.join("\n  ")}`;
  }
});

function relayKubeconfig(up: harness.Running, directory: string): string {
  const url = /relay\s+(https:\S+)/.exec(up.output())?.[1];
  assert.ok(url !== undefined, up.output());
  const path = join(directory, "relay.kubeconfig");
  writeFileSync(path, readFileSync(up.kubeconfig, "utf8").replace(up.url, url), { mode: 0o600 });
  return path;
}
