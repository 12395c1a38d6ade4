/** The other end of `measure-loop.ts`: asks a measured child how long its loop was held. */
import type { ChildProcess } from "node:child_process";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

export interface HeldQuestion {
  readonly held: "reset" | "read";
  readonly id: number;
}

export interface HeldAnswer {
  readonly heldAsked: number;
  readonly heldCpuMs: number;
  readonly heldWallMs: number;
  /** Of the longest of `heldCpuMs`, by the wall: with busy cores more than its CPU. */
  readonly collectionMs: number;
}

/** To be added to the child's environment; its stdio needs an `ipc` entry. */
export const measuredEnvironment = {
  NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "measure-loop.ts")).href}`,
};

let lastId = 0;

/** Resolves two ticks of the child's loop later; rejects when the child ends before. */
export function askHeld(child: ChildProcess, held: HeldQuestion["held"]): Promise<HeldAnswer> {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    const done = (): void => {
      child.off("message", onMessage);
      child.off("exit", onExit);
    };
    const onMessage = (message: HeldAnswer): void => {
      if (message.heldAsked !== id) return;
      done();
      resolve(message);
    };
    const onExit = (code: number | null, signal: string | null): void => {
      done();
      reject(new Error(`the measured process ended: code ${code}, signal ${signal}`));
    };
    child.on("message", onMessage);
    child.on("exit", onExit);
    child.send({ held, id } satisfies HeldQuestion);
  });
}
