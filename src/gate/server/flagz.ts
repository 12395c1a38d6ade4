/**
 * Serves `/flagz`: the effective flags of a component, by name.
 *
 * Holds  a flag's value is shown, never the content of the file that it names: keys and tokens are in files.
 *        Credentials in a URL are replaced by upstream's placeholder.
 */
import type { ZPage } from "./z-page.ts";

/** Values of flags as upstream's flags print them. */
export type ShownFlags = Readonly<Record<string, string>>;

const classified = "CLASSIFIED";

export function flagzPage(component: string, flags: ShownFlags): ZPage {
  const shown = Object.entries(flags)
    .map(([name, value]) => [name, withoutCredentials(value)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    kind: "Flagz",
    component,
    text: () => shown.map(([name, value]) => `${name}:${oneLine(value)}\n`).join(""),
    fields: () => ({ flags: Object.fromEntries(shown) }),
  };
}

/** Removes the credentials of `https://user:password@host`. */
function withoutCredentials(value: string): string {
  return value.replaceAll(/(:\/\/)[^/?#,\s]*@/g, `$1${classified}@`);
}

/** Removes line ends, because the value would look like several flags. */
function oneLine(value: string): string {
  return /[\r\n]/.test(value) ? JSON.stringify(value) : value;
}
