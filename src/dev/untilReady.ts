import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import { startFailure } from './stack/startFailure.ts'

export type UntilReadyOptions = {
  /** The `/readyz` of each process, under a name for people. */
  readonly probes: readonly { readonly name: string; readonly url: string }[]
  /** Resolves, with the reason, when a process will not be started again. */
  readonly refused: Promise<string>
  readonly timeoutMs: number
}

const pauseMs = 100
/** Beyond what a process itself gives its parts to answer. */
const answerMsMax = 5_000

const answerSchema = z.object({ parts: z.record(z.string(), z.string()) })

/**
 * Every process answers that it is ready. Throws a start failure that names the parts that are not after
 * `timeoutMs`, and `ConfigError` as soon as a process refuses its configuration.
 */
export async function untilReady(options: UntilReadyOptions): Promise<void> {
  const { probes, refused, timeoutMs } = options
  const endsAt = performance.now() + timeoutMs
  for (;;) {
    const faults = (await Promise.all(probes.map(faultOf))).filter((fault) => fault !== undefined)
    if (faults.length === 0) return
    const refusal = await Promise.race([refused, sleep(pauseMs, undefined)])
    if (refusal !== undefined) throw new ConfigError(refusal)
    if (performance.now() > endsAt) {
      const told = faults.map((fault) => `- ${fault}`).join('\n')
      throw startFailure(`Darkroom was not ready within ${timeoutMs / 1000} s:\n${told}`)
    }
  }
}

/** What is wrong with one process, for people; `undefined`: it is ready. */
async function faultOf({ name, url }: UntilReadyOptions['probes'][number]) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) })
    const text = await answer.text()
    return answer.ok ? undefined : `${name}: ${faultyParts(text) ?? `answers ${answer.status}`}`
  } catch {
    return `${name} does not answer at ${url}`
  }
}

/** The parts that are not ok in an answer of an internal `/readyz`; the public one does not tell them. */
function faultyParts(text: string): string | undefined {
  const parts = partsIn(text)
  const faulty = Object.entries(parts).filter(([, state]) => state !== 'ok')
  if (faulty.length === 0) return undefined
  return faulty.map(([part, state]) => `${part} is ${state}`).join(', ')
}

function partsIn(text: string): Readonly<Record<string, string>> {
  try {
    return answerSchema.safeParse(JSON.parse(text)).data?.parts ?? {}
  } catch {
    return {}
  }
}
