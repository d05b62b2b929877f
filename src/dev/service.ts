import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { httpUrl } from '../config.ts'
import type { Launch } from './child.ts'
import { startChild } from './child.ts'
import { processEnvironment, serviceAllocator, serviceNodeFlags } from './environment.ts'

const readyTimeoutMs = 60_000
/** The exit code of `src/wiring/runProcess.ts` when the configuration is wrong. */
const refusedExitCode = 2
/** Limit for one answer of `/readyz`. Longer than the API process and the worker wait for their own parts. */
const answerTimeoutMs = 5_000

/**
 * Starts `src/worker.ts` and then `src/api.ts` as separate processes, as in production. So everything runs when the
 * API's `GET /readyz` is 200. Also asks the internal `/readyz`, because only that one lists the parts that are not
 * ready. Throws `ConfigError` when a process refuses its configuration.
 */
export async function startService(
  config: Config,
  environment: Readonly<Record<string, string>>,
  launch: Launch,
): Promise<void> {
  const { internalHost, internalPort, workerInternalPort, host, port } = config
  await start('worker', [httpUrl(internalHost, workerInternalPort)])
  await start('api', [httpUrl(internalHost, internalPort), httpUrl(host, port)])

  async function start(name: 'api' | 'worker', urls: readonly string[]): Promise<void> {
    const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
    const child = startChild(
      {
        name: `The ${name}`,
        file: process.execPath,
        args: [...serviceNodeFlags[name], script, '--exit-with-parent'],
        env: { ...serviceAllocator, ...processEnvironment(name, environment) },
        stopSignal: 'SIGTERM',
        lostSignal: 'SIGKILL',
        refusedExitCode,
      },
      launch,
    )
    await child.ready(() => firstFault(urls), readyTimeoutMs)
  }
}

/** Asks every process. Returns what is wrong with the first one that is not ready. */
async function firstFault(urls: readonly string[]): Promise<string | undefined> {
  for (const url of urls) {
    const fault = await faultAt(`${url}/readyz`)
    if (fault !== undefined) return fault
  }
  return undefined
}

async function faultAt(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) })
    const text = await answer.text()
    return answer.ok ? undefined : (faultyParts(text) ?? `it answers ${answer.status} at ${url}`)
  } catch {
    return `it does not answer at ${url}`
  }
}

const answerSchema = z.object({ parts: z.record(z.string(), z.string()) })

/** Returns the parts that an internal `/readyz` calls not ok. The public `/readyz` lists no parts. */
function faultyParts(text: string): string | undefined {
  try {
    const { parts } = answerSchema.parse(JSON.parse(text))
    const faulty = Object.entries(parts).filter(([, state]) => state !== 'ok')
    return faulty.map(([part, state]) => `${part} is ${state}`).join(', ') || undefined
  } catch {
    return undefined
  }
}
