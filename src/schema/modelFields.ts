import { z } from 'zod'
import type { Family } from '../domain/models/models.ts'
import type { Model, ModelTable } from '../domain/models/modelTable.ts'
import { offeredModels } from '../domain/models/modelTable.ts'

// The fields of requests whose values depend on the models of the process. A schema checks their form alone, and
// `checkSupported.ts` the values, when the task is accepted: a repeated request is answered even when its model has gone.

type Field = {
  readonly valuesOf: (model: Model) => readonly string[]
  /** Of the models of this family alone. */
  readonly family?: Family | undefined
  /** Further values, of no model. */
  readonly also?: readonly string[]
}

const fields = z.registry<Field>()

function field(field: Field) {
  return z.string().register(fields, field)
}

/** The public name of a model. */
export function modelField(family?: Family) {
  return field({ family, valuesOf: ({ id }) => [id] })
}

export function sizeField(family?: Family, also: readonly string[] = []) {
  return field({ family, also, valuesOf: ({ sizes }) => sizes })
}

export function aspectRatioField() {
  return field({ valuesOf: ({ aspectRatios }) => aspectRatios })
}

export function qualityField() {
  return field({ valuesOf: ({ qualities }) => qualities })
}

/** Returns the values of a field of this file, for the OpenAPI document, and `undefined` for any other schema. */
export function valuesOfField(
  schema: z.core.$ZodType,
  models: ModelTable,
): readonly string[] | undefined {
  const field = fields.get(schema)
  if (field === undefined) return undefined
  const { family, valuesOf, also = [] } = field
  return [...new Set([...offeredModels(models, family).flatMap(valuesOf), ...also])]
}
