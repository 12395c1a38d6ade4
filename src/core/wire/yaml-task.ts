/** Program of the thread that parses YAML. */
import { parentPort } from "node:worker_threads";
import { type YamlInput, yamlOutput } from "./yaml-reader.ts";

parentPort?.on("message", (input: YamlInput) => parentPort?.postMessage(yamlOutput(input)));
