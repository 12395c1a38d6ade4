/** Program of a thread that evaluates expressions. */
import { parentPort } from "node:worker_threads";
import { answerTask } from "./answer-task.ts";
import type { ExpressionTask } from "./tasks.ts";

parentPort?.on("message", (task: ExpressionTask) => parentPort?.postMessage(answerTask(task)));
