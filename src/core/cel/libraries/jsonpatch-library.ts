/** kubernetes.jsonpatch: declared only for the expressions of mutating policies. */
import { declare, free, textOf, types } from "./library.ts";
import type { Library } from "./library.ts";
import { escapeKey } from "./text-functions.ts";

export const jsonPatchLibrary: Library = {
  name: "kubernetes.jsonpatch",
  since: 32,
  functions: [
    declare(
      "jsonpatch.escapeKey",
      free("string_jsonpatch_escapeKey_string", [types.string], types.string, (text) =>
        escapeKey(textOf(text)),
      ),
    ),
  ],
};
