import { z } from 'zod'
import type { Caller } from '../../domain/accounts/account.ts'
import type { ModelId } from '../../domain/models/models.ts'
import { actions, familyOf, modelIds } from '../../domain/models/models.ts'
import { rulesOf } from '../../domain/models/familyRules.ts'
import type { Price } from '../../domain/models/prices.ts'
import { shownPrices } from '../../domain/models/shownPrices.ts'
import { fail, succeed } from '../../domain/result.ts'
import { model, modelList } from '../../schema/answers/modelsAnswer.ts'
import type { ApiParts } from '../apiParts.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const listModelsRoute = jsonRoute({
  method: 'GET',
  path: '/v1/models',
  id: 'listModels',
  summary: 'List the models that the account may use, with their prices',
  answer: [200, 'Every model that the account may use.', modelList],
  run: async (parts, { caller }) =>
    succeed({ object: 'list', data: modelsOf(caller).map((id) => modelJson(parts, id)) }),
})

/** Answers for a model that the account may not use as if it did not exist. */
export const getModelRoute = jsonRoute({
  method: 'GET',
  path: '/v1/models/{model}',
  id: 'getModel',
  summary: 'Read one model with its prices',
  params: { model: z.enum(modelIds) },
  answer: [200, 'The model.', model],
  errors: ['unknown_model'],
  run: async (parts, { context, caller }) => {
    const asked = modelsOf(caller).find((id) => id === context.params['model'])
    return asked === undefined ? fail({ tag: 'unknown_model' }) : succeed(modelJson(parts, asked))
  },
})

function modelsOf({ models }: Caller): readonly ModelId[] {
  return models === undefined ? modelIds : modelIds.filter((id) => models.includes(id))
}

/**
 * The time when each model was made. Clients of OpenAI require the field, and Darkroom does not know the
 * time, so it is the same for every model.
 */
const createdAtSeconds = Date.UTC(2026, 0) / 1000

function modelJson({ config }: ApiParts, model: ModelId): object {
  const { sizes, aspectRatios } = config.capabilities[model]
  const rules = rulesOf(model)
  return {
    id: model,
    object: 'model',
    created: createdAtSeconds,
    owned_by: 'darkroom',
    family: familyOf(model),
    actions,
    sizes,
    aspect_ratios: rules.aspectRatios.length > 0 ? aspectRatios : null,
    qualities: rules.qualities.length > 0 ? rules.qualities : null,
    prices: shownPrices(config.prices, model, { sizes }).map(priceJson),
  }
}

/** Fields that are absent in the price stay absent. */
function priceJson({ size, quality, action, credits, creditsPerInputImage }: Price): object {
  return { size, quality, action, credits, credits_per_input_image: creditsPerInputImage }
}
