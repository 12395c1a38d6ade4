#!/usr/bin/env node
/**
 * The launcher: runs the product on a Node that can. On an older host Node it starts the pinned one
 * and stays only to pass signals and the exit code on; a pipe between the two ends with it, so that a
 * launcher that is killed outright leaves no server behind. From a checkout it runs src, else dist.
 */
import { existsSync, readFileSync } from "node:fs";
import module from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hostMajorMin, pinnedNode } from "../tools/node-path.mjs";
import { resolveOwnModules } from "./own-modules.mjs";

/** The modules of a start are compiled by then. */
const keepCompiledMs = 1000;
/** Of the pipe; in the started process's environment until it has read it. */
const launcherPipe = 3;
const launcherVariable = "PILOTHOUSE_LAUNCHER_PID";
const self = fileURLToPath(import.meta.url);
const root = join(dirname(self), "..");

if (Number(process.versions.node.split(".")[0]) >= hostMajorMin) await start();
else await startPinned();

async function start() {
  stopWithLauncher();
  module.enableCompileCache?.(join(root, "node_modules", ".cache", "pilothouse"));
  // By itself it is written when the process ends well, and some are only ever killed. Once written it
  // costs 0.2 ms, the first time 30; it saves every later start half of its CPU.
  setTimeout(() => module.flushCompileCache?.(), keepCompiledMs).unref();
  const source = join(root, "src", "run", "cmd", "main.ts");
  const main = existsSync(source) ? source : join(root, "dist", "run", "cmd", "main.js");
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  resolveOwnModules(pathToFileURL(join(dirname(main), "..", "..", "/")).href, imports);
  await import(pathToFileURL(main).href);
}

async function startPinned() {
  const { spawn } = await import("node:child_process");
  const args = [self, ...process.argv.slice(2)];
  const env = { ...process.env, [launcherVariable]: String(process.pid) };
  const stdio = ["inherit", "inherit", "inherit", "pipe"];
  const child = spawn(pinnedNode(root), args, { stdio, env });
  // The terminal sends Ctrl-C to both; a signal sent to the launcher alone must reach the child.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`pilothouse: cannot start ${pinnedNode(root)}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}

/** As by a SIGTERM to this process, when the launcher that waits for it is gone. */
function stopWithLauncher() {
  const launcher = process.env[launcherVariable];
  delete process.env[launcherVariable];
  if (launcher === undefined) return;
  const stop = () => process.kill(process.pid, "SIGTERM");
  if (launcher !== String(process.ppid)) return stop();
  const pipe = new Socket({ fd: launcherPipe, readable: true, writable: false }).unref();
  pipe
    .on("error", () => {})
    .once("close", stop)
    .resume();
}
