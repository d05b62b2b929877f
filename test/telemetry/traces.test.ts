import { beforeAll, describe, expect, it } from 'vitest'
import type { TaskDetail, TimelineEvent } from '../../src/store/tasks/readTaskDetail.ts'
import { createTracing } from '../../src/telemetry/tracing.ts'
import { startTraceCollector, treeOf } from '../support/telemetry/traceCollector.ts'

let collector: Awaited<ReturnType<typeof startTraceCollector>>
beforeAll(async () => {
  collector = await startTraceCollector()
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url
  return () => collector.close()
})

const acceptedAtMs = Date.now() - 86_400_000

/** A task that ended after 10 s, accepted long before this process started. */
function detailOf(
  taskId: string,
  events: readonly (readonly [TimelineEvent['event'], number, TimelineEvent['detail']?])[],
): TaskDetail {
  return {
    task: {
      taskId,
      accountId: 'acct_x',
      route: 'images.tasks',
      family: 'B',
      model: 'familyb-image-2-vip',
      status: 'failed',
      credits: 1,
      createdAtMs: acceptedAtMs,
      nowMs: Date.now(),
      completedAtMs: acceptedAtMs + 10_000,
      failure: { code: 'generation_timeout', cause: 'deadline', workPossible: true },
    },
    summary: {
      task_id: taskId,
      account: 'acme',
      key_id: 'key_x',
      model: 'familyb-image-2-vip',
      action: 'generate',
      route: 'images.tasks',
      status: 'failed',
      credits: 1,
      created_at: '2026-01-01T00:00:00.000Z',
      deadline_at: '2026-01-01T00:10:00.000Z',
    },
    acceptedAtMs,
    timeline: events.map(([event, ms, detail = {}]) => ({
      atMs: acceptedAtMs + ms,
      event,
      detail,
    })),
  }
}

describe('the traces of tasks that ended', () => {
  it('have the real times, end a call that is still open with the task, and leave out what follows', async () => {
    const tracing = createTracing({
      process: 'worker',
      readTaskDetail: async (taskId) =>
        detailOf(taskId, [
          ['accepted', 0],
          ['attempt_opened', 1_000, { attempt: 1, channel: 'one' }],
          ['attempt_closed', 3_000, { attempt: 1, class: 'unknown', reason: 'timeout' }],
          ['attempt_opened', 4_000, { attempt: 2, channel: 'two' }],
          ['failed', 10_000],
          ['webhook', 11_000],
        ]),
      onError: () => {},
    })
    tracing.taskEnded('task_open')
    await tracing.close()
    const spans = collector.spans()
    const root = spans.find(({ attributes }) => attributes['darkroom.task_id'] === 'task_open')
    const trace = spans.filter(({ traceId }) => traceId === root?.traceId)
    expect(treeOf(trace).trim().split('\n')).toEqual([
      'darkroom-worker: image task [familyb-image-2-vip generation_timeout]',
      '  darkroom-worker: wait []',
      '  darkroom-worker: upstream call [1 one familyb-image-2-vip unknown timeout]',
      '  darkroom-worker: wait []',
      '  darkroom-worker: upstream call [2 two familyb-image-2-vip]',
    ])
    const times = trace.map(({ startMs, endMs }) =>
      [startMs, endMs].map((ms) => Math.round(ms) - acceptedAtMs).join(' to '),
    )
    expect(times.toSorted()).toEqual([
      '0 to 1000',
      '0 to 10000',
      '1000 to 3000',
      '3000 to 4000',
      '4000 to 10000',
    ])
    expect(root?.events).toEqual(['accepted', 'failed'])
    expect(trace.filter(({ failed }) => failed).map(({ name }) => name)).toHaveLength(2)
  })
})
