import type { ModelId } from '../domain/models.ts'
import { isModelId } from '../domain/models.ts'

/** An account's list of models as read; a model that no longer exists is nothing to be allowed. */
export function knownModels(models: readonly string[] | null): {
  readonly models?: readonly ModelId[]
} {
  return models === null ? {} : { models: models.filter(isModelId) }
}
