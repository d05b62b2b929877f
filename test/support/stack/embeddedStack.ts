import { inject } from 'vitest'
import { z } from 'zod'

/** The real PostgreSQL and Temporal of this test run. */
export type EmbeddedStack = {
  /** The URL of a superuser. Each test file uses its own database: see createTestDatabase. */
  readonly databaseUrl: string
  /** HOST:PORT. Each test file uses its own namespace: see openTestWorld. */
  readonly temporalAddress: string
}

/** The time limit for a hook that may start the stack, on a busy machine. */
export const stackStartMsMax = 3 * 60_000

const answerSchema = z.object({ databaseUrl: z.string(), temporalAddress: z.string() })
let stack: Promise<EmbeddedStack> | undefined

/** Returns the stack of this run. The first call in a run starts it, which takes a few seconds. */
export function embeddedStack(): Promise<EmbeddedStack> {
  stack ??= askGlobalSetup()
  return stack
}

/** Sets the stack for commands in bench/, which run without vitest. Call it before `embeddedStack`. */
export function useStack(given: EmbeddedStack): void {
  stack = Promise.resolve(given)
}

async function askGlobalSetup(): Promise<EmbeddedStack> {
  const response = await fetch(inject('embeddedStackUrl'))
  const body = await response.text()
  if (!response.ok) throw new Error(body)
  return answerSchema.parse(JSON.parse(body))
}
