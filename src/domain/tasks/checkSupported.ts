import type { Caller } from '../accounts/account.ts'
import type { RequestFailure } from '../failure.ts'
import { invalidRequest } from '../failure.ts'
import type { CapabilityTable } from '../models/capabilities.ts'
import type { ImageRequest } from './imageRequest.ts'

/**
 * The names, in error messages, of the two fields that some models do not support. The v1beta routes pass the paths that
 * these fields have in their own documents.
 */
export type ParamNames = { readonly size: string; readonly aspectRatio: string }

const snakeCaseNames: ParamNames = { size: 'size', aspectRatio: 'aspect_ratio' }

type Asked = {
  readonly caller: Caller
  readonly request: Pick<ImageRequest, 'model' | 'size' | 'aspectRatio'>
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
  return undefined
}

function notSupported(param: string, supported: readonly string[]): RequestFailure {
  const message =
    supported.length === 0
      ? 'The requested model does not take this parameter.'
      : `The requested model does not support this value. Supported: ${supported.join(', ')}.`
  return invalidRequest('invalid_value', param, message)
}
