/** Impersonation headers stay apart line by line; other headers cost nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { impersonateLines } from "./http-lines.ts";

test("lines stay apart, in whatever case their names came, and commas stay in them", () => {
  const raw = ["Host", "x", "Impersonate-Group", "a,b", "impersonate-group", "c", "If-Match", "d"];
  assert.deepEqual(impersonateLines(raw), {
    impersonateLines: { "impersonate-group": ["a,b", "c"] },
  });
  assert.equal(impersonateLines(["Host", "x", "Import", "y"]), undefined);
});
