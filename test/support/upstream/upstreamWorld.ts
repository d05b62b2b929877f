import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { createFileBlobStore } from '../../../src/blobs/fileBlobStore.ts'
import { startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import { newUploadId } from '../../../src/domain/ids.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import type { Family, ImageMimeType } from '../../../src/domain/models/models.ts'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import type { ImageRequest, InputImage } from '../../../src/domain/tasks/imageRequest.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import type { UpstreamCall, UpstreamOutcome } from '../../../src/domain/upstream/upstreamCall.ts'
import { createUpstreamCaller } from '../../../src/upstream/callUpstream.ts'
import { createUpstreamConnections } from '../../../src/upstream/upstreamConnections.ts'
import { tempFolder } from '../tempFolder.ts'

const timeoutMs = 10_000

/** What a test changes about a call; the defaults are the simplest valid call. */
export type CallOptions = {
  readonly request?: Partial<ImageRequest>
  readonly prompt?: string
  readonly models?: Channel['models']
  readonly channel?: Partial<Channel>
  readonly call?: Partial<Omit<UpstreamCall, 'request' | 'channel'>>
}

/** Calls upstreams over real HTTP, with blobs in a temporary folder. */
export async function openUpstreamWorld(wrapBlobs = (blobs: BlobStore): BlobStore => blobs) {
  const blobs = await createFileBlobStore(tempFolder())
  const dispatcher = createUpstreamConnections()
  onTestFinished(() => dispatcher.destroy())
  const tempDir = tempFolder()
  const caller = createUpstreamCaller({
    blobs: wrapBlobs(blobs),
    models: createModelTable(),
    safetySecret: 'a secret',
    tempDir,
    dispatcher,
  })

  async function call(
    baseUrl: string,
    family: Family,
    options: CallOptions = {},
  ): Promise<UpstreamOutcome> {
    const prompt = options.prompt ?? 'A lighthouse at dusk'
    const model = family === 'A' ? 'familya-3-pro-image' : 'familyb-image-2-vip'
    const request = {
      route: 'images.tasks',
      family,
      model,
      action: 'generate',
      body: { kind: 'prompt', prompt },
      inputs: [],
      ...options.request,
    } as const
    const outcome = await caller({
      channel: {
        name: 'main',
        family,
        baseUrl,
        apiKey: 'secret-key',
        models: options.models ?? {},
        timeoutMs,
        concurrencyMax: 10,
        ...options.channel,
      },
      accountId: 'acct_1',
      model: request.model,
      request,
      upstreamKey: 'attempt-1',
      timeoutMs,
      ...options.call,
    })
    if (outcome.class === 'succeeded') {
      onTestFinished(() => outcome.image.discard())
    }
    return outcome
  }

  async function storeInput(bytes: Buffer, mimeType: ImageMimeType): Promise<InputImage> {
    const blobKey = `${newUploadId('input')}/0`
    await blobs.put([blobKey, bytes])
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return { blobKey, mimeType, bytes: bytes.length, sha256 }
  }

  return { call, storeInput, blobs, tempDir }
}

/** An upstream world with a simulator that answers at once with small images. */
export async function openSimulatedWorld() {
  const simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
  onTestFinished(() => simulator.close())
  const world = await openUpstreamWorld()
  const callFamily = (family: Family, options?: CallOptions): Promise<UpstreamOutcome> =>
    world.call(family === 'A' ? simulator.url : `${simulator.url}/v1`, family, options)
  return { ...world, simulator, callFamily }
}
