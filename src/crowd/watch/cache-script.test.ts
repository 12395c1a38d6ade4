/** The watch cache as a script (`testdata/cache.txt`): what each watcher gets, and when. */
import assert from "node:assert/strict";
import { testScript } from "#platform/testing/script.ts";
import type { Cursor } from "./cursor.ts";
import { describeItem, predicate, TestFeed, type Write } from "./testing/feed.ts";
import type { WatchSink } from "./watch-item.ts";

type Settings = Readonly<Record<string, string>>;

/** `a=1 b=2` as a record. */
function settingsOf(words: readonly string[]): Settings {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}

interface Watcher {
  readonly cursor: Cursor;
  readonly sink: ScriptSink;
}

/** Says what it takes, until its room is used up; then it refuses. */
class ScriptSink implements WatchSink {
  room = Number.POSITIVE_INFINITY;
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  deliver(items: readonly Parameters<typeof describeItem>[0][]): boolean {
    if (this.room <= 0) {
      this.#say("refuses");
      return false;
    }
    this.room -= items.length;
    for (const item of items) this.#say(describeItem(item));
    return true;
  }

  end(error?: Error): void {
    this.#say(`ends: ${error?.message ?? "shutdown"}`);
  }
}

function startWatch(feed: TestFeed, sink: WatchSink, settings: Settings): Cursor {
  const { from = "state", namespace, labels, fields, latest } = settings;
  const wanted = predicate(namespace, labels, fields);
  const start = from === "state" ? ("state" as const) : { after: Number(from) };
  const options = { predicate: wanted, bookmarks: true, latest: latest === "true", start };
  return feed.cache.watch(options, sink);
}

/** Commands of the script. What a watcher gets is printed as it comes: `name: TYPE namespace/name@revision labels`. */
function cacheCommands() {
  let feed = new TestFeed();
  let lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const watchers = new Map<string, Watcher>();
  const find = (name: string): Watcher => {
    const watcher = watchers.get(name);
    assert.ok(watcher !== undefined, name);
    return watcher;
  };
  const writeOf = (key: string, words: readonly string[]): Write => {
    const { node = "", ...labels } = settingsOf(words);
    return { key, labels, node };
  };
  const commands: Readonly<Record<string, (...args: string[]) => unknown>> = {
    cache(...words) {
      const { ring = "1000", crowd = "0" } = settingsOf(words);
      feed = new TestFeed({ ringItemsMax: Number(ring), crowd: Number(crowd) });
    },
    watch(name = "", ...words) {
      const sink = new ScriptSink((line) => say(`${name}: ${line}`));
      const settings = settingsOf(words);
      if (settings["room"] !== undefined) sink.room = Number(settings["room"]);
      watchers.set(name, { sink, cursor: startWatch(feed, sink, settings) });
    },
    write: (key = "", ...words) => feed.write(writeOf(key, words)),
    "write-all": (...keys) => feed.write(...keys.map((key) => writeOf(key, []))),
    apply: (key = "", ...words) => feed.apply(writeOf(key, words)),
    delete: (key = "") => feed.write({ key }),
    skip: () => feed.skip(),
    dispatch: () => feed.dispatch(),
    turn: () => feed.turn() || say("no turn is due"),
    compact: (revision) => feed.compact(Number(revision)),
    bookmark: () => feed.cache.bookmark(0, 1),
    room(name = "", items) {
      const { sink, cursor } = find(name);
      sink.room = items === undefined ? Number.POSITIVE_INFINITY : Number(items);
      cursor.resume();
    },
    close: (name = "") => find(name).cursor.close(),
    lose: () =>
      feed.cache.reset({ objects: [], revision: feed.revision }, new Error("the feed began anew")),
    state() {
      const { floor, revision } = feed.cache.state;
      const behind = feed.cache.positionsBehind().join(",");
      say(`ring ${floor}..${revision} watchers=${feed.cache.watchers} behind=[${behind}]`);
    },
  };
  return (command: string, args: readonly string[]): readonly string[] => {
    lines = [];
    const run = commands[command];
    assert.ok(run !== undefined, command);
    run(...args);
    return lines;
  };
}

testScript(new URL("testdata/cache.txt", import.meta.url), cacheCommands);
