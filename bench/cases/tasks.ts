import type { BenchService, BenchWorld, ImageSize } from '../support/benchWorld.ts'
import { generationBody } from '../support/benchWorld.ts'
import type { Shot } from '../support/load.ts'
import { shoot } from '../support/load.ts'
import type { Client } from '../../test/support/clients/client.ts'
import { createClient } from '../../test/support/clients/client.ts'
import { runParallel } from '../../test/support/timing.ts'

export const generationPath = '/v1/images/generations'

/**
 * Returns a shot that makes one synchronous generation. The constant upstream sends an image of this size after this
 * time.
 */
export function generationShot(
  service: BenchService,
  image: ImageSize = 'small',
  latencyMs = 0,
): Shot {
  const body = generationBody(image, latencyMs)
  return async (agent) => {
    await shoot(agent, `${service.url}${generationPath}`, {
      method: 'POST',
      headers: service.headers,
      body,
    })
  }
}

/** The body of an asynchronous generation. */
export function asyncBody(latencyMs = 0): string {
  return JSON.stringify({ ...JSON.parse(generationBody('small', latencyMs)), action: 'generate' })
}

/** Returns a shot that submits one task, each time with a new idempotency key. */
export function submitShot(service: BenchService, secret: string = service.owner.secret): Shot {
  const body = asyncBody()
  return async (agent) => {
    await shoot(agent, `${service.url}/v1/images/tasks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body,
      status: 202,
    })
  }
}

/** Runs tasks from submit to succeeded, at most `parallel` at once. */
export async function runTasks(
  { service }: BenchWorld,
  count: number,
  parallel: number,
): Promise<void> {
  const client = createClient(service.url, service.owner.secret)
  await runParallel(count, parallel, async () => {
    const { task_id: taskId } = await client.accepted(asyncBody())
    await succeeded(client, taskId)
  })
}

/**
 * Waits until the task has succeeded, with one lookup that is held open (`Prefer: wait`), as Temporal's client waits
 * for the result of a workflow.
 */
export async function succeeded(
  { url, authorization }: Pick<Client, 'url' | 'authorization'>,
  taskId: string,
): Promise<void> {
  const headers = { authorization, prefer: 'wait=60' }
  const answer = await fetch(`${url}/v1/tasks/${taskId}`, { headers })
  const { status } = Object(await answer.json())
  if (status !== 'succeeded') throw new Error(`${taskId} is ${status} after a minute`)
}

const backlogMsMax = 600_000

/** Waits until no task is live, so that the backlog of one measurement does not slow the next. */
export async function settled(service: BenchService, say: BenchWorld['say']): Promise<void> {
  const endsAtMs = performance.now() + backlogMsMax
  let said = Number.POSITIVE_INFINITY
  for (;;) {
    const { rows } = await service.pool.query<{ live: string }>(
      `select count(*) as live from task where status in ('queued', 'processing')`,
    )
    const live = Number(rows[0]?.live)
    if (live === 0) return
    if (performance.now() > endsAtMs) throw new Error(`${live} tasks do not end`)
    if (live < said - 1_000) {
      say(`waiting for ${live} tasks`)
      said = live
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
