/**
 * What one client may see: all namespaces, or those that it was asked about.
 *
 * Holds  a scope is seen only after a yes; nothing is sent while a question is open. Namespaces are asked
 *        about one by one only when the client may not see all of them. Bounds `scopesMax` namespaces.
 */
import type { RightsLimits } from "./limits.ts";
import { StreamEndError } from "./stream-end.ts";

/** Scope of readers of all namespaces. */
export const allNamespaces = "";

/** Name of a right: a collection ("" for the objects of clusters and routes) in a scope. Neither has a space. */
export function rightName(collection: string, scope: string): string {
  return collection === "" ? scope : `${collection} ${scope}`;
}

export function readRight(right: string): { readonly collection: string; readonly scope: string } {
  const space = right.indexOf(" ");
  if (space < 0) return { collection: "", scope: right };
  return { collection: right.slice(0, space), scope: right.slice(space + 1) };
}

export class ScopeRights {
  readonly #limits: RightsLimits;
  readonly #ask: (scope: string) => void;
  readonly #verdicts = new Map<string, boolean>();
  readonly #open = new Set<string>();
  /** Namespaces to ask about if the client may not see all of them. */
  readonly #wanted = new Set<string>();

  /** `ask`: asks for a right; the answer is passed to `decide` later. */
  constructor(limits: RightsLimits, ask: (scope: string) => void) {
    this.#limits = limits;
    this.#ask = ask;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  get seesAll(): boolean {
    return this.#verdicts.get(allNamespaces) === true;
  }

  maySee(scope: string): boolean {
    return this.seesAll || this.#verdicts.get(scope) === true;
  }

  /** Scopes with an answer, to be asked about again periodically. */
  get decided(): readonly string[] {
    return this.seesAll ? [allNamespaces] : [...this.#verdicts.keys()];
  }

  /** Asks about a scope unless that has been done. @throws StreamEndError at the limit. */
  need(scope: string): void {
    if (this.seesAll || this.#wanted.has(scope)) return;
    if (this.#wanted.size >= this.#limits.scopesMax) {
      const text = `more than ${this.#limits.scopesMax} namespaces are named`;
      throw new StreamEndError("limit", text);
    }
    this.#wanted.add(scope);
    const general = this.#verdicts.get(allNamespaces);
    if (general === undefined) this.#question(allNamespaces);
    else this.#question(scope);
  }

  /** Like `need`, but at the limit the scope stays hidden. */
  want(scope: string): void {
    if (this.#wanted.size < this.#limits.scopesMax) this.need(scope);
  }

  /** @returns "ended" when an existing right was lost, "granted" when a refused right was granted. */
  decide(scope: string, isAllowed: boolean): "ended" | "granted" | "same" {
    this.#open.delete(scope);
    const before = this.#verdicts.get(scope);
    this.#verdicts.set(scope, isAllowed);
    if (before === true && !isAllowed) return "ended";
    if (scope === allNamespaces && before === undefined && !isAllowed) this.#askEach();
    return before === false && isAllowed ? "granted" : "same";
  }

  #askEach(): void {
    for (const scope of this.#wanted) if (scope !== allNamespaces) this.#question(scope);
  }

  #question(scope: string): void {
    if (this.#open.has(scope) || this.#verdicts.has(scope)) return;
    this.#open.add(scope);
    this.#ask(scope);
  }
}
