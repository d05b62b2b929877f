import type { LargeRequests } from './largeRequests.ts'
import type { Places } from './places.ts'
import type { BlobStore } from '../../domain/ports/blobStore.ts'
import type { Channel, Served } from '../../domain/upstream/channel.ts'
import type { UpstreamCaller } from '../../domain/upstream/upstreamCall.ts'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import type { Messages } from '../../store/connection/messages.ts'
import type { Via } from '../../store/attempts/openAttempt.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'
import type { Beats } from './beats.ts'
import type { VendorCodes } from './vendorCodes.ts'

export type ProduceImageDeps = {
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly log: Logger
  readonly metrics: Recorders
  readonly callUpstream: UpstreamCaller
  /** Tells all workers of a task, which those take that know its model. */
  readonly announceTask: Messages['announceTask']
  /** The id of this process, in the table of beats. */
  readonly processId: string
  readonly beats: Pick<Beats, 'mayCall'>
  readonly places: Places
  readonly largeRequests: LargeRequests
  readonly vendorCodes: VendorCodes
  /** The channels of all families, in the operator's order. */
  readonly channels: readonly Channel[]
  /** The limit `UPSTREAM_CALLS_MAX`. */
  readonly callsMax: number
  /** Returns a random number in [0, 1). */
  readonly random: () => number
}

export type ProduceInput = {
  readonly taskId: string
  /** Default: `workflow`. A synchronous task without a run stands in line to its deadline. */
  readonly via?: Via
  /** The model of a task that has probably had no call yet. Its first call is tried at once. */
  readonly firstOf?: Served
  /** Aborts when no new call should start. A call that is under way finishes, because it is paid for. */
  readonly signal?: AbortSignal
  readonly onStage?: (stage: Stage) => void
  /** Make no further call: settle a stored answer, wait for a call under way, and otherwise end the task. */
  readonly giveUp?: boolean
}

/**
 * What `produceImage` does with the task: it makes a call or stores its answer, or the task stands in line. The worker
 * sends it to Temporal as the details of its heartbeats, where a lookup of the task reads it.
 */
export type Stage =
  | { readonly stage: 'calling' | 'storing'; readonly channel: string }
  | { readonly stage: 'waiting' }
