import { z } from 'zod'
import { actions, families } from '../../domain/models/models.ts'

const credits = z.int().min(0)

const price = z
  .object({
    size: z.string().optional(),
    quality: z.string().optional(),
    action: z.enum(actions).optional(),
    credits: credits.meta({ description: 'The credits that a request holds.' }),
    credits_per_input_image: credits.meta({ description: 'Added for each source image.' }),
  })
  .meta({
    id: 'Price',
    description:
      'A price of a model. The first entry that matches a request counts. A field that is absent here matches any value, and a request without it.',
  })

/** The answer of `GET /v1/models/{model}`. */
export const model = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int().meta({ description: 'Unix time in seconds. The same for every model.' }),
    owned_by: z.string(),
    family: z.enum(families),
    actions: z.array(z.enum(actions)),
    sizes: z.array(z.string()).meta({ description: 'The accepted values of `size`.' }),
    aspect_ratios: z.array(z.string()).nullable().meta({
      description:
        'The accepted values of `aspect_ratio`. Null: the model does not take the field.',
    }),
    qualities: z.array(z.string()).nullable().meta({
      description: 'The accepted values of `quality`. Null: the field has no effect.',
    }),
    prices: z.array(price),
  })
  .meta({ id: 'Model', description: 'A model that the account may use, with its prices.' })

/** The answer of `GET /v1/models`. */
export const modelList = z
  .object({ object: z.literal('list'), data: z.array(model) })
  .meta({ id: 'ModelList', description: 'The models that the account may use.' })
