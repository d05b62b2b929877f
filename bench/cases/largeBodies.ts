import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from '../support/benchCase.ts'
import { postStream } from '../../test/support/clients/rawCalls.ts'
import { paddedPng } from '../../test/support/images.ts'
import { timed } from '../../test/support/timing.ts'
import { peakMiB } from '../../test/support/service/processUsage.ts'

const mebibyte = 1024 * 1024
const atOnce = 8

/** Eight edits with 64 MiB of images each, while another client asks for its task. */
export const largeEdits: BenchCase = {
  name: 'edits-64mib',
  title: 'eight edits of 64 MiB at once',
  figures: {
    API: { unit: 'MiB', goal: { atMost: 300 } },
    'longest answer to another request': { unit: 'ms', goal: { atMost: 60 } },
    'all eight accepted': { unit: 'ms' },
  },
  round: async ({ startService }) => {
    // A service of its own, because other cases have already grown the heap of the shared one.
    const service = await startService({})
    try {
      const images = Array.from({ length: 16 }, (_, n) =>
        paddedPng(4 * mebibyte, n).toString('base64'),
      )
      const probe = await startHealthProbe(service.url)
      const tookMs = await timed(() =>
        Promise.all(
          Array.from({ length: atOnce }, async () => {
            const answer = await postStream(
              `${service.url}/v1/images/tasks`,
              service.headers,
              editBody(images),
            )
            // Over its byte budget the API answers 429: that is no failure of this case.
            if (answer.status !== 202 && answer.status !== 429) throw new Error(answer.body)
          }),
        ),
      )
      const longestMs = await probe.longestMs()
      const [api = 0] = service.parts().api
      return {
        API: peakMiB(api),
        'longest answer to another request': longestMs,
        'all eight accepted': tookMs,
      }
    } finally {
      await service.stop()
    }
  },
}

/** Asks for the health of a service until `longestMs` is called, which returns the longest time of an answer. */
async function startHealthProbe(url: string) {
  const child = fork(fileURLToPath(new URL('../support/healthProbe.ts', import.meta.url)), [url], {
    stdio: 'inherit',
  })
  await once(child, 'message')
  return {
    longestMs: async () => {
      const told = once(child, 'message')
      child.send('stop')
      const [longestMs]: readonly unknown[] = await told
      return Number(longestMs)
    },
  }
}

function* editBody(images: readonly string[]) {
  yield '{"model":"familyb-image-2-vip","action":"edit","prompt":"Together","input_images":['
  for (const [n, data] of images.entries()) {
    yield `${n === 0 ? '' : ','}{"mime_type":"image/png","data":"`
    yield data
    yield '"}'
  }
  yield ']}'
}
