import type { Caller } from '../../domain/accounts/account.ts'
import type { ModelId } from '../../domain/models/models.ts'
import { actions, familyOf, modelIds, qualities } from '../../domain/models/models.ts'
import type { Price } from '../../domain/models/prices.ts'
import { shownPrices } from '../../domain/models/shownPrices.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'

/** `GET /v1/models`: answers with the models that the account may use, in the form of OpenAI's list. */
export function listModels(parts: ApiParts): AccountHandler {
  return withQuery(noFields, async (context, caller) => {
    const data = modelsOf(caller).map((model) => modelJson(parts, model))
    sendJson(context, 200, { object: 'list', data })
    return undefined
  })
}

/**
 * `GET /v1/models/{model}`: answers with one model. For a model that the account may not use, answers as if it did
 * not exist.
 */
export function getModel(parts: ApiParts): AccountHandler {
  return withQuery(noFields, async (context, caller) => {
    const model = modelsOf(caller).find((id) => id === context.params['model'])
    if (model === undefined) return { tag: 'unknown_model' }
    sendJson(context, 200, modelJson(parts, model))
    return undefined
  })
}

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
  const family = familyOf(model)
  return {
    id: model,
    object: 'model',
    created: createdAtSeconds,
    owned_by: 'darkroom',
    family,
    actions,
    sizes,
    aspect_ratios: family === 'A' ? aspectRatios : null,
    qualities: family === 'B' ? qualities : null,
    prices: shownPrices(config.prices, model, { sizes }).map(priceJson),
  }
}

/** Fields that are absent in the price stay absent. */
function priceJson({ size, quality, action, credits, creditsPerInputImage }: Price): object {
  return { size, quality, action, credits, credits_per_input_image: creditsPerInputImage }
}
