import type { Caller } from '../accounts/account.ts'
import type { RequestFailure } from '../failure.ts'
import { invalidRequest } from '../failure.ts'
import { objectOf, textOf } from '../json.ts'
import type { CapabilityTable } from '../models/capabilities.ts'
import type { ImageRequest } from './imageRequest.ts'

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
  readonly caller: Caller
  readonly request: Pick<ImageRequest, 'model' | 'size' | 'aspectRatio' | 'body'>
  /** Absent: `size` and `aspect_ratio`. */
  readonly paramNames?: ParamNames
}

/**
 * Checks whether the account may use the model, then whether the model supports the request. Returns the
 * failure, or `undefined` when the request is supported.
 */
export function checkSupported(
  capabilities: CapabilityTable,
  { caller, request, paramNames = snakeCaseNames }: Asked,
): RequestFailure | undefined {
  const { model, size, aspectRatio } = request
  if (caller.models !== undefined && !caller.models.includes(model)) {
    return { tag: 'access_denied', message: 'This account has no access to the requested model.' }
  }
  const supported = capabilities[model]
  if (size !== undefined && !supported.sizes.includes(size)) {
    return notSupported(paramNames.size, supported.sizes)
  }
  if (aspectRatio !== undefined && !supported.aspectRatios.includes(aspectRatio)) {
    return notSupported(paramNames.aspectRatio, supported.aspectRatios)
  }
  return checkThinking(request.body, supported.thinkingLevels, paramNames)
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
