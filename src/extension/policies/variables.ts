/**
 * The variables of one request for expressions, in the version that a policy wants.
 *
 * Cost   objects are converted once per version; what expressions read of them is converted when they read it.
 * Holds  the authorizer answers for the user of the request, or for a service account the expression names.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import { type AnyObject, isNamespaceResource } from "#api/object.ts";
import type { Catalog } from "#apiserver/kind.ts";
import type { Authorizer } from "#auth/auth.ts";
import { dynValue, jsonValue } from "#cel/json-values.ts";
import {
  authorizerValue,
  type DecideAccess,
  requestResourceValue,
} from "#cel/libraries/authorizer-library.ts";
import type { Value } from "#cel/libraries/values.ts";
import { objectView } from "../webhooks/object-view.ts";
import { LazyVariables } from "./lazy-variables.ts";
import type { Covered } from "./matcher.ts";
import type { FindParams } from "./params.ts";
import type { NamedExpression } from "./policy-index.ts";
import {
  describeNamespace,
  describeRequest,
  namespaceNode,
  requestNode,
} from "./request-variables.ts";
import type { Scopes } from "./validating-decision.ts";

export interface VariableDeps {
  readonly lookup: Lister;
  readonly catalog: Pick<Catalog, "find">;
  readonly authorizer: Authorizer;
  readonly findParams: FindParams;
}

const namespaces = { group: "", resource: "namespaces" };
type Values = Map<string, Value>;

export class RequestVariables {
  readonly #deps: VariableDeps;
  readonly #request: AdmissionRequest;
  readonly #bases = new Map<Covered["info"], ReadonlyMap<string, Value>>();
  #namespace: Value | undefined;

  constructor(deps: VariableDeps, request: AdmissionRequest) {
    this.#deps = deps;
    this.#request = request;
  }

  /** @throws ApiError when an object cannot be converted. */
  async scopes(
    covered: Covered,
    param: AnyObject | null,
    variables: readonly NamedExpression[],
  ): Promise<Scopes> {
    const base = new Map(await this.#base(covered)).set(
      "params",
      param === null ? null : dynValue(param),
    );
    const plain = new Map(base).set("namespaceObject", this.#namespaceObject());
    return {
      full: complete(this.#withAuthorizer(plain), variables),
      withoutAuthorizer: complete(new Map(plain), variables),
      conditions: complete(this.#withAuthorizer(base.set("namespaceObject", null)), variables),
    };
  }

  async #base(covered: Covered): Promise<ReadonlyMap<string, Value>> {
    const known = this.#bases.get(covered.info);
    if (known !== undefined) return known;
    const { object, oldObject } = this.#request;
    const { info, kind } = covered;
    const view = objectView(this.#deps.catalog, info, kind, this.#request.subresource);
    const seen = async (one: AnyObject | undefined): Promise<Value> =>
      one === undefined ? null : dynValue(await view.toView(one));
    const request = describeRequest(this.#request, info, kind);
    const base: Values = new Map();
    base.set("object", await seen(object)).set("oldObject", await seen(oldObject));
    base.set("request", jsonValue(request, requestNode));
    this.#bases.set(info, base);
    return base;
  }

  #namespaceObject(): Value {
    this.#namespace ??= this.#readNamespace();
    return this.#namespace;
  }

  #readNamespace(): Value {
    const { namespace, info } = this.#request;
    if (namespace === "" || isNamespaceResource(info)) return null;
    const found = this.#deps.lookup.get(namespaces, "", namespace);
    return found === undefined ? null : jsonValue(describeNamespace(found), namespaceNode);
  }

  #withAuthorizer(values: Values): Values {
    const decide = decisions(this.#deps.authorizer, this.#request.user);
    const { info, subresource, namespace, name } = this.#request;
    const { group, resource } = info;
    const own = { group, resource, subresource, namespace, name };
    return new Map(values)
      .set("authorizer", authorizerValue(decide))
      .set("authorizer.requestResource", requestResourceValue(decide, own));
  }
}

/** What `authorizer` answers from. */
export function decisions(authorizer: Authorizer, asker: AdmissionRequest["user"]): DecideAccess {
  return (check) => {
    const { subject, verb } = check;
    const user = subject === undefined ? asker : accountUser(subject);
    if (check.kind === "path") {
      return authorizer.authorize({ user, verb, ...ofPath, path: check.path });
    }
    const { labelSelector: _, ...resource } = check.resource;
    const asked = { user, verb, path: "", isResourceRequest: true, version: "*", ...resource };
    return authorizer.authorize(asked);
  };
}

const ofPath = {
  isResourceRequest: false,
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

function complete(
  values: Values,
  variables: readonly NamedExpression[],
): ReadonlyMap<string, Value> {
  const lazy: LazyVariables = new LazyVariables(variables, () => values);
  return values.set("variables", lazy);
}

function accountUser(subject: {
  readonly namespace: string;
  readonly serviceAccount: string;
}): AdmissionRequest["user"] {
  const { namespace, serviceAccount } = subject;
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const name = `system:serviceaccount:${namespace}:${serviceAccount}`;
  return { name, groups: [...groups, "system:authenticated"] };
}
