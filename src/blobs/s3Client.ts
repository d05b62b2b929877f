import { S3Client } from '@aws-sdk/client-s3'

/** No answer, or no byte of a body, for this long: the request is given up and tried again. */
const idleMsMax = 10_000
/** One request from its start to the end of the answer's headers: 64 MiB at 2 MiB/s, doubled. */
const requestMsMax = 60_000
const connectMsMax = 3_000

/**
 * The SDK's defaults have no timeouts at all; these are ours. Region, endpoint and credentials come from
 * the AWS SDK's own variables (design section 3, `BLOB_STORE`). `maxAttempts` covers requests without a
 * stream; uploads are retried by `putObject`, which can open its file again.
 */
export function createS3Client(options: { readonly pathStyle: boolean }): S3Client {
  const agent = { keepAlive: true, maxSockets: 64 }
  return new S3Client({
    forcePathStyle: options.pathStyle,
    maxAttempts: 3,
    retryMode: 'standard',
    // The SDK would print its retry warnings to the console; what failed reaches us as errors.
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    requestHandler: {
      connectionTimeout: connectMsMax,
      requestTimeout: requestMsMax,
      throwOnRequestTimeout: true,
      socketTimeout: idleMsMax,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

function silent(): void {}
