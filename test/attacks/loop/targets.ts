/** The measured processes: `pilothouse up`, and when asked for a `pilothouse relay` before it. */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { removeDirectory, startUp, temporaryDirectory } from "../../process/harness.ts";
import { type Credentials, credentialsOf } from "../../process/kube-http.ts";
import { startRelay } from "../../process/relay-harness.ts";
import { measuredEnvironment } from "./held.ts";

export interface Target {
  readonly url: string;
  readonly child: ChildProcess;
}

export interface Targets {
  readonly plane: Target;
  readonly relay: Target | undefined;
  /** The admin's, for both. */
  readonly credentials: Credentials;
  stop(): Promise<void>;
}

/** `mirrored`: by the relay; absent: as it does by default. */
export async function startTargets(
  name: string,
  withRelay: boolean,
  mirrored?: string,
): Promise<Targets> {
  const directory = temporaryDirectory(`attacks-${name.replaceAll(/\W/g, "-")}`);
  const args = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "1"];
  const plane = await startUp(args, measuredEnvironment);
  const { kubeconfig } = plane;
  const pki = join(directory, "data", "pki");
  const relayArgs = mirrored === undefined ? [] : ["--resources", mirrored];
  const options = { kubeconfig, directory, name: "relay", pki, args: relayArgs };
  const relay = withRelay
    ? await startRelay({ ...options, environment: measuredEnvironment })
    : undefined;
  return {
    plane,
    relay,
    credentials: credentialsOf(kubeconfig),
    async stop() {
      await relay?.stop();
      await plane.stop();
      removeDirectory(directory);
    },
  };
}
