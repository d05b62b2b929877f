import { once } from 'node:events'
import { createServer } from 'node:net'
import type { WorkerLog } from './installRuntime.ts'
import { installRuntime } from './installRuntime.ts'

const host = '127.0.0.1'
const answerMsMax = 1_000
/** Between finding a free port and taking it, somebody else may. */
const portsTriedMax = 5

/**
 * Installs the runtime with the metrics of its native part (slots, polls, latencies). It can only serve
 * them itself, so it does on a free port of 127.0.0.1; what is answered fetches their text, and an empty
 * one while it cannot be had.
 */
export async function installMeasuredRuntime(log: WorkerLog): Promise<() => Promise<string>> {
  for (let tried = 1; ; tried += 1) {
    const bindAddress = `${host}:${await freePort()}`
    try {
      installRuntime({ log, metrics: { prometheus: { bindAddress, ...names } } })
      return () => fetchText(`http://${bindAddress}/metrics`)
    } catch (error) {
      if (tried >= portsTriedMax) throw error
    }
  }
}

/** As Prometheus' own rules ask for: counters end in `_total`, units in the name, seconds. */
const names = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const

async function fetchText(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) })
    return answer.ok ? await answer.text() : ''
  } catch {
    return ''
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('Bug: no TCP address')
  return address.port
}
