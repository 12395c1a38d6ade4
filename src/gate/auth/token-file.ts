/**
 * Static tokens (`--token-auth-file`): lines of token,user,uid[,"group1,group2"].
 *
 * Holds  tokens are kept and compared as digests, so neither a memory dump nor timing reveals one.
 */
import { hash } from "node:crypto";
import type { UserInfo } from "#platform/http.ts";
import type { UserTokens } from "./auth.ts";
import { withAuthenticated } from "./groups.ts";

export class StaticTokens implements UserTokens {
  readonly #users = new Map<string, UserInfo>();

  /** Throws with the line number when a line has fewer than three columns. */
  constructor(text: string) {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (line.trim() !== "" && !line.startsWith("#")) this.#add(line, index + 1);
    }
  }

  #add(line: string, lineNumber: number): void {
    const [token = "", name = "", uid = "", groups = "", ...rest] = splitCsv(line);
    if (token === "" || name === "" || rest.length > 0) {
      throw new Error(
        `token file line ${lineNumber}: expected token,user,uid and optionally one quoted list of groups`,
      );
    }
    const list = groups.split(",").map((group) => group.trim());
    const user = { name, groups: list.filter((group) => group !== "") };
    this.#users.set(digest(token), withAuthenticated(uid === "" ? user : { ...user, uid }));
  }

  userOf(token: string): UserInfo | undefined {
    return this.#users.get(digest(token));
  }
}

function digest(token: string): string {
  return hash("sha256", token, "base64");
}

/** Splits one CSV record. Fields may be quoted, quotes inside are doubled. */
function splitCsv(line: string): readonly string[] {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return Array.from(fields, ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? "").trim() : quoted.replaceAll('""', '"'),
  );
}
