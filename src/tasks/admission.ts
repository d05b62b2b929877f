import type { CapabilityTable } from '../domain/capabilities.ts'
import type { Caller } from '../domain/caller.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import type { RequestFailure } from '../domain/requestFailure.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import type { ParamNames } from './taskService.ts'

/** What forbids a request besides money: its account's models, then its model's capabilities. */
export function refusalOf(
  caller: Caller,
  request: ImageRequest,
  capabilities: CapabilityTable,
  paramNames: ParamNames,
): RequestFailure | undefined {
  const { model, size, aspectRatio } = request
  if (caller.models !== undefined && !caller.models.includes(model)) {
    return { tag: 'access_denied', message: 'This account has no access to the requested model.' }
  }
  const able = capabilities[model]
  if (size !== undefined && !able.sizes.includes(size)) {
    return notSupported(paramNames.size, able.sizes)
  }
  if (aspectRatio !== undefined && !able.aspectRatios.includes(aspectRatio)) {
    return notSupported(paramNames.aspectRatio, able.aspectRatios)
  }
  return undefined
}

function notSupported(param: string, supported: readonly string[]): RequestFailure {
  const message =
    supported.length === 0
      ? 'The requested model does not take this parameter.'
      : `The requested model does not support this value. Supported: ${supported.join(', ')}.`
  return invalidRequest('invalid_value', param, message)
}
