import { isGrpcServiceError } from '@temporalio/client'
import { NamespaceNotFoundError } from '@temporalio/common'

/** The names of gRPC's status codes, in their order. */
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

/** Why a call to Temporal failed, as a word fit for logs and metrics. Anything else is a bug: rethrown. */
export function grpcReason(error: unknown): GrpcReason {
  const reason = knownReason(error)
  if (reason === undefined) throw error
  return reason
}

/** Nothing was decided and a moment later it may be: worth another try within the deadline. */
export function isRetryable(error: unknown): boolean {
  const reason = knownReason(error)
  return reason === 'UNAVAILABLE' || reason === 'RESOURCE_EXHAUSTED' || reason === 'ABORTED'
}

function knownReason(error: unknown): GrpcReason | undefined {
  if (error instanceof TemporalTimeout) return 'DEADLINE_EXCEEDED'
  // A Temporal that has lost its data and was not migrated yet; the SDK drops the status for a class.
  if (error instanceof NamespaceNotFoundError) return 'NOT_FOUND'
  const status = isGrpcServiceError(error) ? error : causeOf(error)
  return isGrpcServiceError(status) ? (statusNames[status.code] ?? 'UNKNOWN') : undefined
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** The deadline passed. What was asked may still happen. */
export class TemporalTimeout extends Error {
  override readonly name = 'TemporalTimeout'

  constructor(limitMs: number) {
    super(`Temporal did not answer in ${limitMs} ms`)
  }
}
