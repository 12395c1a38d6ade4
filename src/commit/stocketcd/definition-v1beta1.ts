/**
 * CustomResourceDefinitions of v1beta1, as upstream stores them: what all versions share is said once.
 *
 *   v1beta1  spec.validation, .subresources, .additionalPrinterColumns, .selectableFields beside spec.versions
 *   v1       the same in each version; columns say jsonPath, a webhook has an object of its own
 *
 * After  apiextensions v1beta1 and v1 conversion.go.
 */
import type { AnyObject } from "#api/object.ts";

interface Shared {
  readonly subresources?: unknown;
  readonly additionalPrinterColumns?: readonly Column[] | undefined;
  readonly selectableFields?: unknown;
}

interface Version extends Shared {
  readonly name: string;
  readonly schema?: unknown;
}

interface Column {
  readonly JSONPath?: string;
}

interface Conversion {
  readonly strategy: string;
  readonly webhookClientConfig?: unknown;
  readonly conversionReviewVersions?: readonly string[];
}

/** Spec of v1beta1, with the fields that v1 does not have or has in another form. */
interface Spec extends Shared {
  readonly version?: string;
  readonly versions?: readonly Version[];
  readonly validation?: unknown;
  readonly conversion?: Conversion;
  readonly preserveUnknownFields?: boolean;
}

export function definitionToV1(object: AnyObject): AnyObject {
  const { version, versions, validation, conversion, preserveUnknownFields, ...rest } = object[
    "spec"
  ] as Spec;
  const { subresources, additionalPrinterColumns, selectableFields, ...same } = rest;
  const shared = { subresources, additionalPrinterColumns, selectableFields };
  const only = version === undefined ? [] : [{ name: version, served: true, storage: true }];
  return {
    ...object,
    apiVersion: "apiextensions.k8s.io/v1",
    spec: present({
      ...same,
      versions: (versions ?? only).map((one) => versionToV1(one, shared, validation)),
      conversion: conversion === undefined ? undefined : conversionToV1(conversion),
      preserveUnknownFields: preserveUnknownFields === false ? undefined : true,
    }),
  } as AnyObject;
}

function versionToV1(one: Version, shared: Shared, validation: unknown): object {
  const columns = one.additionalPrinterColumns ?? shared.additionalPrinterColumns;
  return present({
    ...one,
    schema: one.schema ?? validation,
    subresources: one.subresources ?? shared.subresources,
    selectableFields: one.selectableFields ?? shared.selectableFields,
    additionalPrinterColumns: columns?.map(({ JSONPath: jsonPath, ...column }) =>
      present({ ...column, jsonPath }),
    ),
  });
}

function conversionToV1(conversion: Conversion): object {
  const { strategy, webhookClientConfig: clientConfig, conversionReviewVersions } = conversion;
  const webhook = present({ clientConfig, conversionReviewVersions });
  return { strategy, ...(Object.keys(webhook).length === 0 ? {} : { webhook }) };
}

/** Returns the fields without undefined ones. */
function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
