import type { CallMatcher, SimulatorCall } from './callLog.ts'
import type { ImageMode } from './drawImage.ts'
import type { ScriptHandle } from './faultPlan.ts'
import type { FaultSpec } from './faults.ts'
import type { Latency } from './latency.ts'
import type { RateLimit } from './rateLimiter.ts'

export type SimulatorOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** 0 takes a free one. */
  readonly port: number
  /** How long an image takes; default 3 to 6 seconds. Errors and refusals of the gate come at once. */
  readonly latency?: Latency
  /** Default `drawn`: the prompt, legible, at the asked size. `tiny` spares CPU. */
  readonly image?: ImageMode
  /** Path before `/images/…`; default `/v1`. */
  readonly prefixB?: string
  /** The one accepted key per family; default: any that is not empty. */
  readonly keys?: { readonly A?: string; readonly B?: string }
  /** Refuse what the vendors refuse by size: input images per model, inline bytes, prompt length. Default false. */
  readonly vendorLimits?: boolean
  /** Called when a call ends, with its log entry. Prompts are in it: print digests only. */
  readonly log?: (call: SimulatorCall) => void
}

export type SimulatorControls = {
  /** Copies of the log entries, oldest first; a call is in it from its headers on. */
  readonly calls: (matcher?: CallMatcher) => SimulatorCall[]
  readonly clearCalls: () => void
  /** Queues faults for the calls that match; each serves once, or its `times`. Throws on a bad spec. */
  readonly script: (matcher: CallMatcher, faults: readonly FaultSpec[]) => ScriptHandle
  /** Drops all scripts, and starts the counts of directives again. */
  readonly clearFaults: () => void
  /** Sets a rate limit; the returned function lifts it. */
  readonly limit: (limit: RateLimit) => () => void
  readonly clearLimits: () => void
  /** Lets calls that a `hold` keeps waiting go on; says how many. */
  readonly release: (matcher?: CallMatcher) => number
}

export type Simulator = SimulatorControls & {
  /** `http://host:port`, family A's base; family B's is this and the prefix. */
  readonly url: string
  readonly port: number
  /** Waits until that many matching calls have begun; throws when they have not within `timeoutMs` (10 s). */
  readonly waitForCalls: (
    count: number,
    matcher?: CallMatcher,
    timeoutMs?: number,
  ) => Promise<SimulatorCall[]>
  /** Requests for the addresses that redirects and URL answers named: a good client makes none. */
  readonly strayRequests: () => number
  /** Drops calls, scripts and limits. */
  readonly reset: () => void
  /** Ends every connection, hanging ones too. */
  readonly close: () => Promise<void>
}
