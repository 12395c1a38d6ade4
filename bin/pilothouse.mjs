#!/usr/bin/env node
/**
 * The launcher: runs the product on a Node that can. On an older host Node it starts the pinned one
 * and stays only to pass signals and the exit code on. From a checkout it runs src, else dist.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hostMajorMin, pinnedNode } from "../tools/node-path.mjs";

/** The modules of a start are compiled by then. */
const keepCompiledMs = 1000;
const root = join(dirname(fileURLToPath(import.meta.url)), "..");

if (Number(process.versions.node.split(".")[0]) >= hostMajorMin) await start();
else await startPinned();

async function start() {
  module.enableCompileCache?.(join(root, "node_modules", ".cache", "pilothouse"));
  // By itself it is written when the process ends well, and some are only ever killed. Once written it
  // costs 0.2 ms, the first time 30; it saves every later start half of its CPU.
  setTimeout(() => module.flushCompileCache?.(), keepCompiledMs).unref();
  const source = join(root, "src", "cmd", "main.ts");
  const main = existsSync(source) ? source : join(root, "dist", "cmd", "main.js");
  await import(pathToFileURL(main).href);
}

async function startPinned() {
  const { spawn } = await import("node:child_process");
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(pinnedNode(root), args, { stdio: "inherit" });
  // The terminal sends Ctrl-C to both; a signal sent to the launcher alone must reach the child.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`pilothouse: cannot start ${pinnedNode(root)}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}
