/** Processes that are not left behind: what is still there when this one ends, however it ends, is killed. */
import type { ChildProcess } from "node:child_process";

const children = new Set<ChildProcess>();

let watching = false;

/** After an uncaught error and a signal, too; a SIGKILL of this process alone is the only way past it. */
export function bound<Child extends ChildProcess>(child: Child): Child {
  if (!watching) watchEnd();
  watching = true;
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

function watchEnd(): void {
  process.once("exit", () => {
    for (const child of children) child.kill("SIGKILL");
  });
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
}
