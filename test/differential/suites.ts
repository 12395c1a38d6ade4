/** All suites, in the order in which they run. */
import { applies } from "./cases/applies.ts";
import { appliedValues } from "./cases/applied.ts";
import { bodies } from "./cases/bodies.ts";
import { customResources } from "./cases/customresources.ts";
import { customObjects } from "./cases/custom-objects.ts";
import { definitions } from "./cases/definitions.ts";
import { devices } from "./cases/devices.ts";
import { fieldValidation } from "./cases/field-validation.ts";
import { forms } from "./cases/forms.ts";
import { health } from "./cases/health.ts";
import { integers } from "./cases/integers.ts";
import { kinds, wrongKinds } from "./cases/kinds.ts";
import { lengths } from "./cases/lengths.ts";
import { patchedParts } from "./cases/patched-parts.ts";
import { plugins } from "./cases/plugins.ts";
import { policies } from "./cases/policies.ts";
import { reads } from "./cases/reads.ts";
import { reviewed } from "./cases/reviews.ts";
import { resizes } from "./cases/resizes.ts";
import { ruledResources } from "./cases/rules.ts";
import { server } from "./cases/server.ts";
import { syntax } from "./cases/syntax.ts";
import { subresources } from "./cases/subresources.ts";
import { invalid } from "./cases/invalid.ts";
import { defaults } from "./cases/defaults.ts";
import { events } from "./cases/events.ts";
import { serviceTypes } from "./cases/services.ts";
import { warned } from "./cases/warnings.ts";
import { zeros } from "./cases/zeros.ts";
import { versions } from "./cases/versions.ts";
import { writes } from "./cases/writes.ts";
import type { Suite } from "./exchange.ts";

export const suites: readonly Suite[] = [
  server,
  writes,
  reads,
  subresources,
  kinds,
  wrongKinds,
  invalid,
  customResources,
  definitions,
  customObjects,
  integers,
  forms,
  lengths,
  resizes,
  ruledResources,
  policies,
  syntax,
  plugins,
  applies,
  patchedParts,
  fieldValidation,
  bodies,
  appliedValues,
  versions,
  health,
  devices,
  reviewed,
  zeros,
  serviceTypes,
  events,
  defaults,
  warned,
];
