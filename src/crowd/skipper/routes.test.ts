/** Which routes objects make: testdata/routes.txt. */
import { isRecord } from "#base/is-record.ts";
import { testScript } from "#platform/testing/script.ts";
import { printRoute } from "./eskip-print.ts";
import { type SkipperOptions, standardOptions } from "./options.ts";
import { naiveRoutes } from "./testing/naive-routes.ts";
import { routeForZone } from "./zones.ts";

/**
 *   put KIND NAMESPACE/NAME {fields}     `spec`, `annotations`, `labels` and others
 *   with {options}
 *   routes [zone]
 */
function begin(): (command: string, args: readonly string[]) => readonly string[] {
  const objects = new Map<string, unknown>();
  let options: SkipperOptions = standardOptions;
  return (command, args) => {
    switch (command) {
      case "put": {
        const [kind = "", place = "", ...rest] = args;
        objects.set(`${kind} ${place}`, objectOf(kind, place, rest.join(" ")));
        return [];
      }
      case "with":
        options = { ...options, ...(JSON.parse(args.join(" ")) as Partial<SkipperOptions>) };
        return [];
      default: {
        const routes = naiveRoutes([...objects.values()], options);
        const seen =
          args[0] === undefined ? routes : routes.map((one) => routeForZone(one, args[0] ?? ""));
        return seen.map((one) => printRoute(one, { zones: false }).trimEnd());
      }
    }
  };
}

function objectOf(kind: string, place: string, json: string): unknown {
  const [namespace, name] = place.split("/");
  const { annotations, labels, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const metadata = { namespace, name, annotations, labels };
  return { kind, metadata, ...(isRecord(fields) ? fields : {}) };
}

testScript(new URL("testdata/routes.txt", import.meta.url), begin);
