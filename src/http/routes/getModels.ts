import type { Caller } from '../../domain/accounts/account.ts'
import { familyRules } from '../../domain/models/familyRules.ts'
import type { Model } from '../../domain/models/modelTable.ts'
import { offeredModels } from '../../domain/models/modelTable.ts'
import type { Price } from '../../domain/models/prices.ts'
import { shownPrices } from '../../domain/models/shownPrices.ts'
import { fail, succeed } from '../../domain/result.ts'
import { model, modelList } from '../../schema/answers/modelsAnswer.ts'
import { modelField } from '../../schema/modelFields.ts'
import type { ApiParts } from '../apiParts.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const listModelsRoute = jsonRoute({
  method: 'GET',
  path: '/v1/models',
  id: 'listModels',
  summary: 'List the models that the account may use, with their prices',
  answer: [200, 'Every model that the account may use.', modelList],
  run: async (parts, { caller }) =>
    succeed({ object: 'list', data: modelsOf(parts, caller).map(modelJson) }),
})

/** Answers for a model that the account may not use as if it did not exist. */
export const getModelRoute = jsonRoute({
  method: 'GET',
  path: '/v1/models/{model}',
  id: 'getModel',
  summary: 'Read one model with its prices',
  params: { model: modelField() },
  answer: [200, 'The model.', model],
  errors: ['unknown_model'],
  run: async (parts, { context, caller }) => {
    const asked = modelsOf(parts, caller).find(({ id }) => id === context.params['model'])
    return asked === undefined ? fail({ tag: 'unknown_model' }) : succeed(modelJson(asked))
  },
})

/** Returns the models that an account may use for new tasks. */
export function modelsOf({ config }: ApiParts, { models }: Caller): readonly Model[] {
  return offeredModels(config.models).filter(({ id }) => models?.includes(id) !== false)
}

/**
 * The time when each model was made. Clients of OpenAI require the field, and Darkroom does not know the
 * time, so it is the same for every model.
 */
const createdAtSeconds = Date.UTC(2026, 0) / 1000

function modelJson(model: Model): object {
  const { id, family, actions, sizes, aspectRatios, qualities } = model
  return {
    id,
    object: 'model',
    created: createdAtSeconds,
    owned_by: 'darkroom',
    family,
    actions,
    sizes,
    aspect_ratios: familyRules[family].aspectRatios.length > 0 ? aspectRatios : null,
    qualities: qualities.length > 0 ? qualities : null,
    prices: shownPrices(model).map(priceJson),
  }
}

/** Fields that are absent in the price stay absent. */
function priceJson({ size, quality, action, credits, creditsPerInputImage }: Price): object {
  return { size, quality, action, credits, credits_per_input_image: creditsPerInputImage }
}
