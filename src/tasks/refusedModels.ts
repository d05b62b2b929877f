import type { Pool } from 'pg'
import type { TaskFailure } from '../domain/failure.ts'
import { chooseChannel } from '../domain/gate/chooseChannel.ts'
import { noWaitFailure } from '../domain/gate/taskFailures.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { Channel, Served } from '../domain/upstream/channel.ts'
import { channelsFor, isLeftToOthers } from '../domain/upstream/channel.ts'
import type { ChannelsNow } from '../store/attempts/readTaskFacts.ts'
import { readChannelsNow } from '../store/attempts/readTaskFacts.ts'

export type RefusedModels = ReturnType<typeof createRefusedModels>

type RefusedModelsDeps = { readonly pool: Pool; readonly channels: readonly Channel[] }

/** Time between two looks at the channels of a model. */
const lookMs = 1_000

type Look = { readonly atMs: number; readonly failure: Promise<TaskFailure | undefined> }

/**
 * Creates the memory of an API process of which models refuse synchronous calls: every channel has a cooldown that is too
 * long for a client to wait for. Once one call was refused, further ones are told so before a task is made for them,
 * and the channels are looked at once a second, until one takes the model again. So a call of a model that refuses nobody
 * costs nothing more.
 */
export function createRefusedModels({ pool, channels }: RefusedModelsDeps) {
  const looks = new Map<ModelId, Look>()

  async function look(asked: Served): Promise<TaskFailure | undefined> {
    const { model } = asked
    const able = channelsFor(channels, asked)
    if (isLeftToOthers(model, able)) return undefined
    try {
      const now = await readChannelsNow(pool, able, model)
      const failure = failureOfNewTask(now)
      if (failure === undefined) looks.delete(model)
      return failure
    } catch {
      // The task is accepted or not by its own statement, and its worker looks at the channels itself.
      return undefined
    }
  }

  return {
    /** Tells that a synchronous call of the model was refused. */
    note: (model: ModelId): void => {
      const never = { atMs: -Infinity, failure: Promise.resolve(undefined) }
      if (!looks.has(model)) looks.set(model, never)
    },
    /** Returns why a new synchronous task of the model would fail without a call, or `undefined`. Never rejects. */
    failureOf: async (asked: Served): Promise<TaskFailure | undefined> => {
      const { model } = asked
      const known = looks.get(model)
      if (known === undefined) return undefined
      const nowMs = performance.now()
      if (nowMs - known.atMs < lookMs) return known.failure
      const failure = look(asked)
      looks.set(model, { atMs: nowMs, failure })
      return failure
    },
  }
}

/** Returns the failure of a synchronous task that would be made now, as its worker would decide. */
function failureOfNewTask({ nowMs, channels }: ChannelsNow): TaskFailure | undefined {
  const choice = chooseChannel({ nowMs, sync: true }, channels, 0)
  return choice.kind === 'none' ? noWaitFailure({ nowMs, past: [] }, choice) : undefined
}
