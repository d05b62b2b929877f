import type { Caller } from '../accounts/account.ts'
import type { RequestFailure } from '../failure.ts'
import { invalidRequest } from '../failure.ts'
import { objectOf, textOf } from '../json.ts'
import type { Model, ModelTable } from '../models/modelTable.ts'
import { offeredModels } from '../models/modelTable.ts'
import { qualities } from '../models/models.ts'
import { modelNotFound } from '../requestFailures.ts'
import type { Result } from '../result.ts'
import { fail, succeed } from '../result.ts'
import type { AskedRequest, ImageRequest } from './imageRequest.ts'
import { familyOfRoute, ofFamily } from './imageRequest.ts'

/**
 * The names, in error messages, of the fields that some models do not support. The v1beta routes pass the paths that
 * these fields have in their own documents. Only they have the last two.
 */
export type ParamNames = Readonly<
  Record<'size' | 'aspectRatio' | 'thinkingConfig' | 'thinkingLevel', string>
>

const snakeCaseNames: ParamNames = {
  size: 'size',
  aspectRatio: 'aspect_ratio',
  thinkingConfig: 'thinking_config',
  thinkingLevel: 'thinking_level',
}

type Asked = {
  readonly caller: Pick<Caller, 'models'>
  readonly request: AskedRequest
  /** Absent: `size` and `aspect_ratio`. */
  readonly paramNames?: ParamNames
}

/**
 * Checks whether there is such a model on the route, whether the account may use it, and whether it supports the
 * request. Returns the request for this model, or the failure.
 */
export function checkSupported(
  models: ModelTable,
  { caller, request, paramNames = snakeCaseNames }: Asked,
): Result<ImageRequest, RequestFailure> {
  const family = familyOfRoute(request.route)
  const offered = offeredModels(models, family)
  const model = offered.find(({ id }) => id === request.model)
  if (model === undefined) return fail(modelNotFound(offered.map(({ id }) => id)))
  if (caller.models !== undefined && !caller.models.includes(model.id)) {
    const message = 'This account has no access to the requested model.'
    return fail({ tag: 'access_denied', message })
  }
  const failure = checkValues(model, request, paramNames)
  return failure === undefined ? succeed(ofFamily(request, model.family)) : fail(failure)
}

function checkValues(
  model: Model,
  { route, action, size, aspectRatio, quality, body }: AskedRequest,
  names: ParamNames,
): RequestFailure | undefined {
  if (!model.actions.includes(action)) {
    return notSupported(route === 'images.tasks' ? 'action' : 'model', model.actions)
  }
  if (size !== undefined && !model.sizes.includes(size))
    return notSupported(names.size, model.sizes)
  if (aspectRatio !== undefined && !model.aspectRatios.includes(aspectRatio)) {
    return notSupported(names.aspectRatio, model.aspectRatios)
  }
  const known = model.qualities.length > 0 ? model.qualities : qualities
  if (quality !== undefined && !known.includes(quality)) return notSupported('quality', known)
  return checkThinking(body, model.thinkingLevels, names)
}

/** A vendor refuses thinking that its model does not know, but only after the task was accepted. */
function checkThinking(
  body: ImageRequest['body'],
  levels: readonly string[],
  names: ParamNames,
): RequestFailure | undefined {
  const config = body.kind === 'content' ? body.content.generationConfig : undefined
  const thinking = objectOf(config?.['thinkingConfig'])
  if (thinking === undefined || Object.keys(thinking).length === 0) return undefined
  if (levels.length === 0) return notSupported(names.thinkingConfig, levels)
  const level = textOf(thinking['thinkingLevel']) ?? unspecified
  return level === unspecified || levels.includes(level)
    ? undefined
    : notSupported(names.thinkingLevel, levels)
}

const unspecified = 'THINKING_LEVEL_UNSPECIFIED'

function notSupported(param: string, supported: readonly string[]): RequestFailure {
  const message =
    supported.length === 0
      ? 'The requested model does not take this parameter.'
      : `The requested model does not support this value. Supported: ${supported.join(', ')}.`
  return invalidRequest('invalid_value', param, message)
}
