/** Restart policies and rules of single containers (ContainerRestartRules, RestartAllContainersOnContainerExits). */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybe, maybeText, text } from "./fields.ts";
import { child, index, notSupported, required, tooMany } from "./errors.ts";

const restartPolicies = ["Always", "Never", "OnFailure"];
const actions = ["Restart", "RestartAllContainers"];
const operators = ["In", "NotIn"];
const rulesMax = 20;
const exitCodesMax = 255;

export function checkRestartRules(out: FieldError[], container: Fields, path: string): void {
  checkPolicy(out, container, path);
  const rules = items(container, "restartPolicyRules");
  const at = child(path, "restartPolicyRules");
  if (rules.length > rulesMax) out.push(tooMany(at, rules.length, rulesMax));
  rules.forEach((rule, position) => checkRule(out, rule, index(at, position)));
}

/** For init containers upstream checks the rules only if there is a policy. */
export function checkInitRestartRules(out: FieldError[], container: Fields, path: string): void {
  if (maybeText(container, "restartPolicy") === undefined) checkPolicy(out, container, path);
  else checkRestartRules(out, container, path);
}

function checkPolicy(out: FieldError[], container: Fields, path: string): void {
  const policy = maybeText(container, "restartPolicy");
  const at = child(path, "restartPolicy");
  if (policy === undefined) {
    if (count(container, "restartPolicyRules") === 0) return;
    out.push(required(at, "must specify restartPolicy when restart rules are used"));
  } else if (!restartPolicies.includes(policy)) {
    out.push(notSupported(at, policy, restartPolicies));
  }
}

function checkRule(out: FieldError[], rule: Fields, path: string): void {
  const action = text(rule, "action");
  if (!actions.includes(action)) out.push(notSupported(child(path, "action"), action, actions));
  const codes = maybe(rule, "exitCodes");
  const at = child(path, "exitCodes");
  if (codes === undefined) {
    out.push(required(at, "must be specified"));
    return;
  }
  const operator = text(codes, "operator");
  if (!operators.includes(operator)) {
    out.push(notSupported(child(at, "operator"), operator, operators));
  }
  const values = count(codes, "values");
  if (values > exitCodesMax) out.push(tooMany(child(at, "values"), values, exitCodesMax));
}
