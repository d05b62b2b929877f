import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { serviceAllocator, serviceNodeFlags } from '../../src/dev/serviceEnvironment.ts'
import { inMemoryBytesMax } from '../../src/upstream/answerBody.ts'
import { paddedPng } from '../support/images.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'
import { listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const run = promisify(execFile)
const mebibyte = 1024 * 1024

/** Starts an upstream of family B that answers with these images. */
async function answering(images: readonly Buffer[]): Promise<string> {
  const data = images.map((image) => ({ b64_json: image.toString('base64') }))
  const body = JSON.stringify({ created: 1, data })
  return (await listenAnswering((response) => response.end(body))).url
}

describe('large answers', () => {
  it('take a worker below 500 MiB when eight of 44 MiB arrive at once', async () => {
    const image = paddedPng(33 * mebibyte, 1)
    const url = await answering([image])
    const script = fileURLToPath(new URL('manyLargeAnswers.ts', import.meta.url))
    const args = [...serviceNodeFlags, script, url, tempFolder(), tempFolder(), '8']
    const env = { ...process.env, ...serviceAllocator }
    const { stdout } = await run(process.execPath, args, { env })
    const { sizes, peakMiB }: { sizes: number[]; peakMiB: number } = JSON.parse(stdout)
    expect(sizes).toEqual([image.length])
    // The process that makes the calls is a worker without Temporal's SDK, which takes less than 100 MiB. The limit for
    // a whole worker with fifty such answers is 700 MiB.
    expect(peakMiB).toBeLessThan(500)
  })

  it('wait for memory until the images before them are stored', async () => {
    const { call, tempDir } = await openUpstreamWorld()
    // Two answers together are larger than 96 MiB, in base64.
    const images = [paddedPng(20 * mebibyte, 1), paddedPng(20 * mebibyte, 2)]
    const url = await answering(images)
    const small = await answering([paddedPng(500, 3)])
    const first = await call(url, 'B')
    if (first.class !== 'succeeded') throw new Error(first.evidence.reason)
    expect(first.image.bytes.equals(images[1] ?? Buffer.of())).toBe(true)
    const second = call(url, 'B')
    // A small answer does not wait.
    expect((await call(small, 'B')).class).toBe('succeeded')
    expect(await Promise.race([second, sleep(500, 'waits')])).toBe('waits')
    first.image.discard()
    expect((await second).class).toBe('succeeded')
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('without an image make the next one wait for nothing', async () => {
    const { call, tempDir } = await openUpstreamWorld()
    const url = await answering([Buffer.alloc(inMemoryBytesMax, 1)])
    for (const _ of [1, 2]) expect(await call(url, 'B')).toMatchObject({ class: 'unknown' })
    expect(openFilesIn(tempDir)).toBe(0)
  })

  /** Calls an upstream of family A whose image has a signature of so many bytes. */
  async function callForSigned(signatureBytes: number) {
    const inlineData = { mimeType: 'image/png', data: paddedPng(500, 1).toString('base64') }
    const parts = [{ inlineData, thoughtSignature: 'x'.repeat(signatureBytes) }]
    const body = JSON.stringify({ candidates: [{ content: { parts }, finishReason: 'STOP' }] })
    const { url } = await listenAnswering((response) => response.end(body))
    const { call } = await openUpstreamWorld()
    return await call(url, 'A')
  }

  it('keep their image when up to 32 MiB stand beside it, of which what is too long is not stored', async () => {
    const signed = await callForSigned(3 * mebibyte)
    expect(JSON.stringify(signed).length).toBeGreaterThan(3 * mebibyte)
    for (const signatureBytes of [5 * mebibyte, 31 * mebibyte]) {
      const outcome = await callForSigned(signatureBytes)
      expect(outcome).toMatchObject({
        class: 'succeeded',
        evidence: { leftOutBytes: signatureBytes + ',"thoughtSignature":""'.length },
        image: { bytes: paddedPng(500, 1) },
      })
      expect(outcome).toHaveProperty('native.response.candidates', [
        {
          content: { parts: [{ inlineData: { mimeType: 'image/png', data: '' } }] },
          finishReason: 'STOP',
        },
      ])
    }
    const evidence = { reason: 'answer_too_large' }
    expect(await callForSigned(33 * mebibyte)).toMatchObject({ class: 'unknown', evidence })
  })

  it('may have their image as a data URL that is longer than what may stand beside an image', async () => {
    const image = paddedPng(25 * mebibyte, 1)
    const url = `data:image/png;base64,${image.toString('base64')}`
    const body = JSON.stringify({ created: 1, data: [{ url }] })
    const upstream = await listenAnswering((response) => response.end(body))
    const { call } = await openUpstreamWorld()
    const outcome = await call(upstream.url, 'B', { call: { timeoutMs: 40_000 } })
    expect(outcome).toMatchObject({ class: 'succeeded', evidence: { shape: 'data_url' } })
    expect(outcome.class === 'succeeded' && outcome.image.bytes.equals(image)).toBe(true)
  })
})
