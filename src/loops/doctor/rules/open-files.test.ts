/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { openFiles } from "./open-files.ts";

const files = (open: number, most: number): string =>
  `process_open_fds ${open}\nprocess_max_fds ${most}\n`;

test("a process with most of its files open is warned of, and paged near the end", () => {
  assert.equal(openFiles.judge(sampled("", files(900, 1024)))[0]?.severity, "warn");
  assert.equal(openFiles.judge(sampled("", files(1000, 1024)))[0]?.severity, "page");
});

test("one with room, and one that tells no limit, are well", () => {
  assert.deepEqual(openFiles.judge(sampled("", files(700, 1024))), []);
  assert.deepEqual(openFiles.judge(sampled("", files(50_000, 1_048_576))), []);
  assert.deepEqual(openFiles.judge(sampled("", files(900, 0))), []);
});
