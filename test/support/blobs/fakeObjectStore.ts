import type { S3Client } from '@aws-sdk/client-s3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import { createS3Client } from '../../../src/blobs/s3BlobStore.ts'
import { collect } from '../byteStreams.ts'
import { listen } from '../upstream/testServers.ts'

export type SeenRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** An S3 client whose server answers as `answer` says, for answers that a real store gives only under load. */
export async function fakeObjectStore(
  answer: (request: SeenRequest, response: ServerResponse) => void,
): Promise<{ client: S3Client; seen: SeenRequest[] }> {
  const seen: SeenRequest[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const whole = { method, url, headers, body: await collect(request) }
    seen.push(whole)
    answer(whole, response)
  }
  vi.stubEnv(
    'AWS_ENDPOINT_URL_S3',
    await listen((request, response) => void serve(request, response)),
  )
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'access')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  vi.stubEnv('AWS_REGION', 'us-east-1')
  const client = createS3Client({ pathStyle: true })
  onTestFinished(() => {
    client.destroy()
    vi.unstubAllEnvs()
  })
  return { client, seen }
}
