import type { GivenModels, Model } from '../../src/domain/models/modelTable.ts'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import type { ModelId } from '../../src/domain/models/models.ts'

/** Returns a model as a process knows it, whose operator's file says this. */
export function modelOf(id: ModelId, given: GivenModels = {}): Model {
  const model = createModelTable(given).get(id)
  if (model === undefined) throw new Error(`There is no model ${id}`)
  return model
}
