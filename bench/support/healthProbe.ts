// node healthProbe.ts URL asks for /healthz every five milliseconds and sends its parent the longest time an answer
// took, in milliseconds, when the parent sends a message. It is a process of its own, because the process that sends
// large bodies is too busy to measure.
import { setTimeout as sleep } from 'node:timers/promises'
import { timed } from '../../test/support/timing.ts'

const [url = ''] = process.argv.slice(2)
const everyMs = 5
let longestMs = 0

async function ask(): Promise<void> {
  const tookMs = await timed(async () => (await fetch(`${url}/healthz`)).text())
  longestMs = Math.max(longestMs, tookMs)
}

// The first answers wait for code to be compiled, here and in the service.
for (let warm = 0; warm < 20; warm += 1) await ask()
longestMs = 0
const stopped = new AbortController()
process.once('message', () => stopped.abort())
process.send?.('ready')
while (!stopped.signal.aborted) {
  await ask()
  await sleep(everyMs)
}
process.send?.(longestMs, () => process.disconnect())
