/** The coordinator maintains the set of regions, their profiles, and placements. One API server serves as its home. */
import { createController } from "#client/create-controller.ts";
import type { Client } from "#client/client.ts";
import { createInformerSet } from "#client/informer-set.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { MoveBudget, type MoveLimits } from "../failure/move-budget.ts";
import { PlacementController } from "./placement-controller.ts";
import { RegionLoop } from "./region-loop.ts";
import { RegionSet, type OpenRegion, type RegionSetOptions } from "./region-set.ts";
import { RegionWriter } from "./region-writer.ts";
import { ServiceController } from "../services/service-controller.ts";
import { StuckReplicas } from "./stuck-replicas.ts";

interface CoordinatorDeps {
  /** Client of the home cluster, which holds the global objects, placements and profiles. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly openRegion: OpenRegion;
}

export interface CoordinatorOptions extends RegionSetOptions {
  readonly recovery: MoveLimits;
  readonly summaryEveryMs: number;
  readonly stuckAfterMs: number;
  readonly forgetStuckAfterMs: number;
}

interface Coordinator {
  readonly regions: RegionSet;
  /** Runs until `signal` aborts; resolves when every connection has ended. */
  run(signal: AbortSignal): Promise<void>;
}

export function createCoordinator(deps: CoordinatorDeps, options: CoordinatorOptions): Coordinator {
  const { client, clock, log } = deps;
  const informers = createInformerSet(deps);
  const regions = new RegionSet({ ...deps, informers }, deps.openRegion, options);
  const loop = new RegionLoop({ client, clock, regions }, options);
  const writer = new RegionWriter();
  const services = new ServiceController({ clock, log, informers, regions, writer });
  const placements = new PlacementController({
    client,
    clock,
    log,
    informers,
    regions,
    budget: new MoveBudget(clock, options.recovery),
    stuck: new StuckReplicas(clock, {
      stuckAfterMs: options.stuckAfterMs,
      forgetAfterMs: options.forgetStuckAfterMs,
    }),
    writer,
  });
  regions.onState = (region) => {
    loop.changed(region);
    placements.regionChanged();
    services.regionChanged();
  };
  regions.onObject = (object) => {
    placements.objectChanged(object);
    services.objectChanged(object);
  };
  regions.onService = (key) => services.changed(key);
  regions.profiles.addHandler({
    add: () => placements.regionChanged(),
    update: (old, profile) => {
      if (
        old.metadata?.generation !== profile.metadata?.generation ||
        hasOtherMarks(old, profile)
      ) {
        placements.regionChanged();
        services.regionChanged();
      }
    },
    delete: () => {
      placements.regionChanged();
      services.regionChanged();
    },
  });
  const controllers = [loop, placements, services].map((each) =>
    createController({ ...deps, informers }, each),
  );
  return {
    regions,
    async run(signal) {
      await Promise.all([informers.run(signal), ...controllers.map((each) => each.run(signal))]);
      await regions.close();
    },
  };
}

interface Marked {
  readonly metadata?: { readonly labels?: object; readonly annotations?: object };
}

/** Labels decide where objects may be placed; annotations hold an operator's order. */
function hasOtherMarks(old: Marked, next: Marked): boolean {
  const marks = ({ metadata }: Marked): string =>
    JSON.stringify([metadata?.labels ?? {}, metadata?.annotations ?? {}]);
  return marks(old) !== marks(next);
}
