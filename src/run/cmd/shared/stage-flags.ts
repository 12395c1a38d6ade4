/** The flags for kwok's objects on hollow nodes, of `hollow`, and with the prefix `hollow-` of `up`. */
import { type Command, InvalidArgumentError } from "commander";
import { isIP } from "node:net";
import type { KubeletAddress } from "./hollow-kubelet.ts";
import { commaList, gathered } from "./flag-values.ts";

export interface StageFlags {
  readonly stages: readonly string[];
  readonly enableCrds: readonly string[];
  readonly kubeletListen?: KubeletAddress;
  /** Path of the file of failures. */
  readonly failures?: string;
}

/** The same flags with the names that `up` has. */
export interface HollowStageFlags {
  readonly hollowStages: readonly string[];
  readonly hollowEnableCrds: readonly string[];
  readonly hollowKubeletListen?: KubeletAddress;
  /** Path of the file of failures. */
  readonly hollowFailures?: string;
}

const known = ["Stage"];

export function addStageFlags(command: Command, prefix: "" | "hollow-"): void {
  command
    .option(
      `--${prefix}stages <file>`,
      "YAML of kwok: Stages, played instead of the built-in life of their kinds, usage and logs; may be repeated; see docs/hollow.md",
      gathered,
      [],
    )
    .option(
      `--${prefix}enable-crds <kinds>`,
      `kinds of kwok that are also read from the API, once it serves them: ${known.join(", ")}`,
      enabledKinds,
      [],
    )
    .option(
      `--${prefix}kubelet-listen <address:port>`,
      "serve the kubelets of all hollow nodes here: metrics, pods, logs; port 0 takes any free one. Absent: they have none",
      kubeletAddress,
    )
    .option(
      `--${prefix}failures <file>`,
      "YAML: nodes that crash, flap, are cut off, slow, full or have another time, and when; see docs/hollow.md",
    );
}

function kubeletAddress(text: string): KubeletAddress {
  const found = /^\[?([0-9a-fA-F.:]+?)\]?:([0-9]{1,5})$/.exec(text);
  const [host = "", port = ""] = found?.slice(1) ?? [];
  if (isIP(host) !== 0 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new InvalidArgumentError("an IP address and a port, as 127.0.0.1:10250 or [::1]:10250.");
}

function enabledKinds(text: string): readonly string[] {
  const kinds = commaList(text);
  const other = kinds.find((kind) => !known.includes(kind));
  if (other === undefined) return kinds;
  throw new InvalidArgumentError(`${other} is not known; known: ${known.join(", ")}.`);
}
