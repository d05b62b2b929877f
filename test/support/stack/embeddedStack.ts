import { inject } from 'vitest'
import { z } from 'zod'

/** The real PostgreSQL and Temporal of this test run. */
export type EmbeddedStack = {
  /** A superuser's URL. Tests use databases of their own: see createTestDatabase. */
  readonly databaseUrl: string
  /** HOST:PORT. Tests use task queues and workflow ids of their own in namespace `default`. */
  readonly temporalAddress: string
}

/** For the commands in bench/, which run without vitest on a stack of their own. Before the first use. */
export const useStack = (stack: EmbeddedStack): void => {
  asked = Promise.resolve(stack)
}

const answerSchema = z.object({ databaseUrl: z.string(), temporalAddress: z.string() })
let asked: Promise<EmbeddedStack> | undefined

/**
 * The stack of this run, started at the first call of all test files, which takes a few seconds.
 */
export const embeddedStack = (): Promise<EmbeddedStack> => {
  asked ??= ask()
  return asked
}

/** The time limit for a hook in which the stack may be started, on a busy machine. */
export const stackStartMsMax = 3 * 60_000

const ask = async (): Promise<EmbeddedStack> => {
  const response = await fetch(inject('embeddedStackUrl'))
  const body = await response.text()
  if (!response.ok) throw new Error(body)
  return answerSchema.parse(JSON.parse(body))
}
