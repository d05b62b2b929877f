import { isGrpcServiceError } from '@temporalio/client'
import { NamespaceNotFoundError } from '@temporalio/common'
import { TimeLimitError } from '../domain/withTimeout.ts'

/** The names of gRPC's status codes. The position of a name in this list is its code. */
const statusNames = (
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED ' +
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE ' +
  'DATA_LOSS UNAUTHENTICATED'
).split(' ')

/**
 * Returns the gRPC status of a failed call to Temporal, for logs and metrics. If the error is not a gRPC
 * failure, it is a bug, so this throws it again.
 */
export function grpcReason(error: unknown): string {
  if (error instanceof TimeLimitError) return 'DEADLINE_EXCEEDED'
  // When the server does not know the namespace, the SDK throws this class in place of the gRPC status.
  if (error instanceof NamespaceNotFoundError) return 'NOT_FOUND'
  const status = error instanceof Error && !isGrpcServiceError(error) ? error.cause : error
  if (isGrpcServiceError(status)) return statusNames[status.code] ?? 'UNKNOWN'
  throw error
}

/** Returns when the error is a failed call to Temporal. Any other error is a bug, so this throws it again. */
export function rethrowBug(error: unknown): void {
  grpcReason(error)
}
