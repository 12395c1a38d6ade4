/**
 * Behaviour as scripts: a text file with commands and what they print, which a test runs and compares.
 *
 *   # A sentence about what is shown. It names a test, which begins with a fresh state.
 *   command argument
 *   command
 *   ----
 *   what the commands printed
 *
 * A blank line ends a block; a block without a sentence goes on with the state of the one before it.
 * The test file run with `--rewrite` writes what is printed into the file: the diff is the review.
 * After  cockroachdb/datadriven, as etcd-io/raft uses it.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";

/** Carries out one command and returns the lines it prints. */
type Interpreter = (command: string, args: readonly string[]) => Lines | Promise<Lines>;
type Lines = readonly string[];

interface Block {
  readonly comment: Lines;
  readonly commands: Lines;
  readonly output: Lines;
}

const separator = "----";

/** Defines a test per sentence of `file`; `begin` makes the state that each test begins with. */
export function testScript(file: URL, begin: () => Interpreter): void {
  const isRewriting = process.argv.includes("--rewrite");
  const blocks = readFileSync(file, "utf8")
    .trim()
    .split(/\n{2,}/)
    .map(parseBlock);
  const rewritten: string[] = [];
  for (const story of stories(blocks)) {
    test(story[0]?.comment.join(" ").replaceAll("# ", "") ?? "", async () => {
      const run = begin();
      for (const block of story) {
        const output = await runBlock(block, run);
        if (isRewriting) rewritten.push(printBlock({ ...block, output }));
        else assert.deepEqual(output, block.output, block.commands.join("; "));
      }
    });
  }
  if (!isRewriting) return;
  after(() => {
    assert.equal(rewritten.length, blocks.length, "a command threw: nothing was written");
    writeFileSync(file, `${rewritten.join("\n\n")}\n`);
  });
}

function parseBlock(text: string): Block {
  const lines = text.split("\n");
  const end = lines.indexOf(separator);
  assert.ok(end > 0, `a block has commands and ${separator}: ${text}`);
  const isComment = (line: string): boolean => line.startsWith("# ");
  return {
    comment: lines.slice(0, end).filter(isComment),
    commands: lines.slice(0, end).filter((line) => !isComment(line)),
    output: lines.slice(end + 1),
  };
}

/** Groups the blocks by sentence. */
function stories(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const all: Block[][] = [];
  for (const block of blocks) {
    if (block.comment.length > 0) all.push([]);
    const last = all.at(-1);
    assert.ok(last !== undefined, "the first block has a sentence");
    last.push(block);
  }
  return all;
}

async function runBlock({ commands }: Block, run: Interpreter): Promise<Lines> {
  const output: string[] = [];
  for (const line of commands) {
    const [command = "", ...args] = line.split(" ");
    output.push(...(await run(command, args)));
  }
  return output;
}

function printBlock({ comment, commands, output }: Block): string {
  return [...comment, ...commands, separator, ...output].join("\n");
}
