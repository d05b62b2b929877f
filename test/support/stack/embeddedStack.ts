import { inject } from 'vitest'
import type { CalmAddresses } from './calmProcesses.ts'

/** The real PostgreSQL and Temporal of this test run: those of the calm service. */
export type EmbeddedStack = {
  /** The URL of a superuser. Tests of the store have databases of their own: see createTestDatabase. */
  readonly databaseUrl: string
  /** HOST:PORT. Tests that run workers have namespaces of their own: see openTestWorld. */
  readonly temporalAddress: string
}

/** The time limit for a hook that may start the stack, on a busy machine. */
export const stackStartMsMax = 3 * 60_000

let addresses: Promise<CalmAddresses> | undefined
let given: EmbeddedStack | undefined

/** Returns where the calm service runs. The first call in a run starts it, which takes some seconds. */
export function calmAddresses(): Promise<CalmAddresses> {
  addresses ??= askGlobalSetup()
  return addresses
}

/** Returns the stack of this run. */
export async function embeddedStack(): Promise<EmbeddedStack> {
  if (given !== undefined) return given
  const { environment } = await calmAddresses()
  return {
    databaseUrl: environment['DATABASE_URL'] ?? '',
    temporalAddress: environment['TEMPORAL_ADDRESS'] ?? '',
  }
}

/** Sets the stack for commands in bench/, which run without vitest. Call it before `embeddedStack`. */
export function useStack(stack: EmbeddedStack): void {
  given = stack
}

async function askGlobalSetup(): Promise<CalmAddresses> {
  const response = await fetch(inject('calmUrl'))
  const body = await response.text()
  if (!response.ok) throw new Error(body)
  const answer: CalmAddresses = JSON.parse(body)
  return answer
}
