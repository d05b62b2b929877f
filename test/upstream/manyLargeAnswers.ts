import { readFileSync } from 'node:fs'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { createUpstreamCaller } from '../../src/upstream/callUpstream.ts'

/** largeAnswers.test.ts runs this. It makes `count` calls at once and stores each image, as a worker does. */
const [, , url = '', directory = '', tempDir = '', count = ''] = process.argv
const timeoutMs = 120_000
const blobs = await createFileBlobStore(directory)
const caller = createUpstreamCaller({
  blobs,
  models: createModelTable(),
  safetySecret: 'a secret',
  tempDir,
})

async function callAndStore(order: number): Promise<number> {
  const model = 'familyb-image-2-vip'
  const outcome = await caller({
    channel: {
      name: 'main',
      family: 'B',
      baseUrl: url,
      apiKey: 'key',
      models: {},
      timeoutMs,
      concurrencyMax: Number(count),
    },
    accountId: 'acct_1',
    model,
    request: {
      route: 'images.tasks',
      family: 'B',
      model,
      action: 'generate',
      body: { kind: 'prompt', prompt: 'A fox' },
      inputs: [],
    },
    upstreamKey: `attempt-${order}`,
    timeoutMs,
  })
  if (outcome.class !== 'succeeded') throw new Error(outcome.evidence.reason)
  const { length } = outcome.image.bytes
  await blobs.put([`an${order}/image`, outcome.image.bytes])
  await blobs.deletePrefix(`an${order}`)
  outcome.image.discard()
  return length
}

const sizes = await Promise.all(
  Array.from({ length: Number(count) }, (_, order) => callAndStore(order)),
)
// Not `maxRSS` of the process: it includes the memory of the process that has started this one.
const [, peakKiB] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
const peakMiB = Number(peakKiB) / 1024
process.stdout.write(JSON.stringify({ sizes: [...new Set(sizes)], peakMiB }))
