/**
 * One account submits 30, then 50 tasks with the largest prompt, which all fit on the channel at once. The
 * worker grows by at most 400 MiB. A task of another account with a small prompt does not wait for them.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'
import { runBench } from './support/runBench.ts'
import { freePort } from '../test/support/ports.ts'
import { requestTextBytesMax } from '../src/domain/limits.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { redPixelPng } from '../test/support/images.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runParallel, timed } from '../test/support/timing.ts'

const upstreamMs = 5_000
const growthMibMax = 400

const upstream = createServer((request, response) => {
  request.resume().on('end', () => {
    const data = [{ b64_json: redPixelPng.toString('base64') }]
    setTimeout(() => response.end(JSON.stringify({ created: 1, data })), upstreamMs)
  })
})
const port = await freePort()
await once(upstream.listen(port, '127.0.0.1'), 'listening')

/** The limit counts the other texts of the request too. */
const textBytes = requestTextBytesMax - 1024

/** Kinds of text that need the most memory: two bytes for each character, and six bytes for each as JSON. */
const prompts = {
  'ASCII with one emoji': `😀${'a'.repeat(textBytes - 4)}`,
  'control characters': '\u0001'.repeat(Math.floor(textBytes / 6)),
}

await runBench(async ({ check }) => {
  for (const [kind, prompt] of Object.entries(prompts)) {
    for (const tasks of [30, 50]) {
      const service = await startTestService({
        workers: 0,
        operatorFile: () => ({
          channels: [
            {
              name: 'b-main',
              family: 'B',
              baseUrl: `http://127.0.0.1:${port}/v1`,
              apiKeyEnv: 'FAMILYB_API_KEY',
              concurrencyMax: 60,
            },
          ],
        }),
      })
      const many = createClient(service.url, (await service.account()).secret)
      const single = createClient(service.url, (await service.account()).secret)
      const body = compressed(generateBody({ prompt }))
      const taskIds: string[] = []
      await runParallel(tasks, 2, async () => void taskIds.push(await submitted(many, body)))
      const worker = await service.startWorker()
      const startMib = residentMib(worker.pid)
      await sleep(500)
      const otherMs = await timed(async () => {
        const { task_id } = await single.accepted(generateBody())
        await single.ended(task_id)
      })
      const allMs = await timed(() =>
        Promise.all(taskIds.map((id) => many.ended(id, { everyMs: 500, limitMs: 300_000 }))),
      )
      const resident = residentMib(worker.pid)
      const apiResident = residentMib(service.apis[0]?.pid ?? 0)
      await service.stop()
      process.stdout.write(
        `${tasks} × ${kind}: worker ${resident} MiB (at its start ${startMib}), api ${apiResident} MiB, other ${otherMs.toFixed(0)} ms, ` +
          `all ${(allMs / 1000).toFixed(1)} s\n`,
      )
      const growthMib = resident - startMib
      check(
        `${tasks} × ${kind}: worker grew by ${growthMib} MiB, at most ${growthMibMax} MiB`,
        growthMib <= growthMibMax,
      )
      check(
        `${tasks} × ${kind}: a small task took ${(otherMs / upstreamMs).toFixed(2)} times its call, at most 2`,
        otherMs <= 2 * upstreamMs,
      )
    }
  }
})
upstream.close()

function compressed(body: unknown): Buffer {
  return brotliCompressSync(JSON.stringify(body), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
  })
}

async function submitted(client: Client, body: Buffer): Promise<string> {
  for (;;) {
    const answer = await fetch(`${client.url}/v1/images/tasks`, {
      method: 'POST',
      headers: {
        authorization: client.authorization,
        'content-type': 'application/json',
        'content-encoding': 'br',
      },
      body,
    })
    const text = await answer.text()
    if (answer.status === 202) return JSON.parse(text).task_id
    if (answer.status !== 429) throw new Error(`${answer.status} ${text}`)
    await sleep(200)
  }
}

function residentMib(pid: number): number {
  return Math.round(peakMiB(pid))
}
