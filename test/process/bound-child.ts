/** Processes that are not left behind: what is still there when this one ends, however it ends, is killed. */
import type { ChildProcess } from "node:child_process";

const children = new Set<ChildProcess>();

let watching = false;

/** After an uncaught error and a signal, too; a SIGKILL of this process alone is the only way past it. */
export function bound<Child extends ChildProcess>(child: Child): Child {
  watchEnd();
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** From here on a signal ends this process through its "exit" listeners; a second one does not cut them short. */
export function watchEnd(): void {
  if (watching) return;
  watching = true;
  // First of the listeners: what they remove is then no longer written to.
  process.prependOnceListener("exit", () => {
    for (const child of children) child.kill("SIGKILL");
  });
  process.on("SIGINT", () => process.exit(130));
  process.on("SIGTERM", () => process.exit(143));
}
