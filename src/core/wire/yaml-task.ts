/** The program of a thread that reads YAML. */
import { parentPort } from "node:worker_threads";
import { type YamlInput, yamlOutput } from "./yaml-reader.ts";

parentPort?.on("message", (input: YamlInput) => parentPort?.postMessage(yamlOutput(input)));
