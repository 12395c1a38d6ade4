/** Finds requests that block the single event loop of a Pilothouse server; all other requests wait meanwhile. */
import { growth } from "../evidence.ts";
import { kindOf, type Rule } from "../rule.ts";

const turnsMin = 5;
const share = 0.1;
const by = ["user", "verb", "group", "resource", "stage"];
const countName = "pilothouse_long_turns_total";
const secondsName = "pilothouse_long_turn_seconds_total";

export const longTurns: Rule = {
  id: "long-turns",
  title: "Requests hold the event loop",
  reads: [countName, secondsName],
  threshold:
    "at least five turns of more than 20 ms between two samples, 10 % of the time, by one user, verb and resource",
  source: "a turn of 20 ms is what a quiet client waits for at most; of a server that tells them",
  alerts: [
    {
      query: `sum by (user, verb, group, resource, stage) (rate(${secondsName}{user!=""}[5m]))`,
      above: share,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const seconds = growth(evidence, secondsName, by);
    return [...growth(evidence, countName, by)].flatMap(([key, turns]) => {
      const [user = "", verb = "", group = "", resource = "", stage = ""] = key.split("/");
      const held = (seconds.get(key) ?? 0) / evidence.secondsBetween;
      if (user === "" || !(turns >= turnsMin) || !(held > share)) return [];
      const what = resource === "" ? verb : `${verb} of ${kindOf(group, resource)}`;
      const mean = ((seconds.get(key) ?? 0) / turns) * 1_000;
      return [
        {
          sentence: `${what} by ${user} holds the event loop for ${mean.toFixed(0)} ms at a time`,
          culprit: `${what} by ${user}`,
          severity: "warn" as const,
          figures: { turns, meanMs: Number(mean.toFixed(1)), share: Number(held.toFixed(3)) },
          remedy: `see the path and the stage (here: ${stage}) in the log of the server, "a request held the event loop"; ask for less at once, and report what was asked as a bug`,
          certainty: 0.85,
        },
      ];
    });
  },
};
