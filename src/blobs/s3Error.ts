import { S3ServiceException } from '@aws-sdk/client-s3'

/** The HTTP status behind an error of the S3 SDK; `undefined` when no answer came. */
export function s3Status(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/** Whether another try may succeed: no answer, a conflict of conditional writes, throttled, server trouble. */
export function isS3Transient(error: unknown): boolean {
  const status = s3Status(error)
  return status === undefined || status === 408 || status === 409 || status === 429 || status >= 500
}
