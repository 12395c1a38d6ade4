/** `pilothouse compat`: programs with the stock names, for tools that start them by path (envtest, kwokctl, k3s). */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../shared/usage-error.ts";

/** By program name: the command to run. Like the stock programs, they listen on every address by default. */
const programs: Readonly<Record<string, readonly string[]>> = {
  "kube-apiserver": ["apiserver", "--bind-address=0.0.0.0"],
  "kube-controller-manager": ["controller-manager", "--bind-address=0.0.0.0"],
  "kube-scheduler": ["scheduler", "--bind-address=0.0.0.0"],
  etcd: ["etcd"],
};

export function addCompat(program: Command): void {
  program
    .command("compat")
    .description(
      "write programs named kube-apiserver, kube-controller-manager, kube-scheduler and etcd that run this one by their flags",
    )
    .requiredOption("--dir <dir>", "where they are written; made when missing")
    .addHelpText(
      "after",
      `
Examples:
  pilothouse compat --dir bin
  KUBEBUILDER_ASSETS=$PWD/bin go test ./...               suites that are built on envtest
  bin/kube-apiserver --etcd-servers http://127.0.0.1:2379 --cert-dir certs ...`,
    )
    .action(({ dir }: { readonly dir: string }) => writePrograms(resolve(dir)));
}

function writePrograms(directory: string): void {
  const launcher = resolve(import.meta.dirname, "../../../..", "bin/pilothouse.mjs");
  try {
    mkdirSync(directory, { recursive: true });
    for (const [name, words] of Object.entries(programs)) {
      const path = join(directory, name);
      writeFileSync(path, scriptOf([process.execPath, launcher, ...words]));
      chmodSync(path, 0o755);
    }
  } catch (error) {
    throw new UsageError(`cannot write programs into ${directory}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  process.stdout.write(
    `${Object.keys(programs)
      .map((name) => join(directory, name))
      .join("\n")}\n`,
  );
}

/** `exec` replaces the shell by the program, so a signal to the shell's process reaches the program. */
function scriptOf(words: readonly string[]): string {
  return `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`;
}

function quoted(word: string): string {
  return /^[\w./=:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
