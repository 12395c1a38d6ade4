/** Finds a server near its limit of open files. It refuses connections, and then cannot read certificates or tokens either. */
import { gaugeOf } from "../evidence.ts";
import type { Rule } from "../rule.ts";

const share = 0.8;

export const openFiles: Rule = {
  id: "open-files",
  title: "The API server is near its limit of open files",
  reads: ["process_open_fds", "process_max_fds"],
  threshold: "more than 80 % of the limit",
  source: "kubernetes-mixin; a limit of 1,024 is a shell's default",
  alerts: [
    {
      query: `process_open_fds{job=~".*apiserver.*"} / process_max_fds{job=~".*apiserver.*"}`,
      above: share,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const open = gaugeOf(evidence, "process_open_fds") ?? 0;
    const most = gaugeOf(evidence, "process_max_fds") ?? 0;
    if (!(most > 0) || !(open > share * most)) return [];
    return [
      {
        sentence: `the API server has ${open} of ${most} files open, connections among them`,
        culprit: "the API server's process",
        severity: open > 0.95 * most ? "page" : "warn",
        figures: { open, most },
        remedy:
          "raise LimitNOFILE of its unit (or the container's nofile) to 1048576 and restart it; then see which clients hold watches: kubectl get --raw /metrics | grep apiserver_longrunning_requests",
        certainty: 0.95,
      },
    ];
  },
};
