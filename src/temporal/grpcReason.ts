import { isGrpcServiceError } from '@temporalio/client'
import { NamespaceNotFoundError } from '@temporalio/common'

/** The names of gRPC's status codes. The position of a name in this list is its code. */
const statusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const
type GrpcReason = (typeof statusNames)[number]

/**
 * Returns the gRPC status of a failed call to Temporal, for logs and metrics. If the error is not a gRPC
 * failure, it is a bug, so this throws it again.
 */
export function grpcReason(error: unknown): GrpcReason {
  const reason = knownReason(error)
  if (reason === undefined) throw error
  return reason
}

/** Returns whether the same call can succeed a moment later. */
export function isRetryable(error: unknown): boolean {
  const reason = knownReason(error)
  return reason === 'UNAVAILABLE' || reason === 'RESOURCE_EXHAUSTED' || reason === 'ABORTED'
}

function knownReason(error: unknown): GrpcReason | undefined {
  if (error instanceof TemporalTimeout) return 'DEADLINE_EXCEEDED'
  // When the server does not know the namespace, the SDK throws this class in place of the gRPC status.
  if (error instanceof NamespaceNotFoundError) return 'NOT_FOUND'
  const status = isGrpcServiceError(error) ? error : causeOf(error)
  return isGrpcServiceError(status) ? (statusNames[status.code] ?? 'UNKNOWN') : undefined
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** Thrown when the deadline of a call passed. Temporal may still execute the call. */
export class TemporalTimeout extends Error {
  override readonly name = 'TemporalTimeout'

  constructor(limitMs: number) {
    super(`Temporal did not answer in ${limitMs} ms`)
  }
}
