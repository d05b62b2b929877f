import { setTimeout as sleep } from 'node:timers/promises'
import type { CallMatcher, SimulatorCall } from '../../src/dev/simulator/callLog.ts'

/** The simulator of a service, over HTTP. */
export type SimulatorClient = {
  readonly url: string
  /** The matching calls with their prompts and bodies, oldest first. */
  readonly calls: (matcher?: CallMatcher) => Promise<readonly SimulatorCall[]>
  readonly waitForCalls: (
    count: number,
    matcher?: CallMatcher,
    timeoutMs?: number,
  ) => Promise<readonly SimulatorCall[]>
  readonly script: (matcher: CallMatcher, faults: readonly string[]) => Promise<void>
  readonly limit: (options: Readonly<Record<string, unknown>>) => Promise<void>
  /** Lets held calls go on: those that match, or all. Returns how many. */
  readonly release: (matcher?: CallMatcher) => Promise<number>
  readonly strayRequests: () => Promise<number>
  readonly reset: () => Promise<void>
}

export function createSimulatorClient(url: string): SimulatorClient {
  void sleep
  void url
  const fail = () => Promise.reject(new Error('stub'))
  return {
    url,
    calls: fail,
    waitForCalls: fail,
    script: fail,
    limit: fail,
    release: fail,
    strayRequests: fail,
    reset: fail,
  }
}
