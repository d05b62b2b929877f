import type { Command } from 'commander'
import type { TaskDetail } from '../domain/ports/taskAdmin.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { TimelineEvent } from '../domain/taskTimeline.ts'
import { taskTimeline } from '../domain/taskTimeline.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { iso } from './moment.ts'
import { parseTaskId } from './parse.ts'
import { noSuchTask } from './refusal.ts'
import { fields } from './table.ts'

/** `task show ID`: JSON of the task with its `timeline`; never its prompt. */
export function taskShow(context: CliContext): Command {
  return leaf({
    usage: 'show',
    description: 'show a task and everything that happened to it',
    examples: ['task show task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu'],
  })
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const detail = await (await context.parts.tasks()).readDetail(taskId)
      if (detail === undefined) throw noSuchTask(taskId)
      const workflowUrl = await context.parts.workflowUrl(taskId)
      const timeline = taskTimeline(detail)
      context.show({
        json: { ...summary(detail, workflowUrl), timeline: timeline.map(eventJson) },
        text: `${fields(summary(detail, workflowUrl))}\n\n${timelineText(timeline)}`,
      })
    })
}

function summary(detail: TaskDetail, workflowUrl: string | undefined) {
  const { task, accountName, action, route, size, quality, credits, retryOf, retriedAs } = detail
  return {
    task_id: task.taskId,
    account: accountName,
    model: task.model,
    action,
    ...(size === undefined ? {} : { size }),
    ...(quality === undefined ? {} : { quality }),
    route,
    status: publicStatus(task),
    credits,
    created_at: iso(task.createdAtMs),
    deadline_at: iso(detail.deadlineAtMs),
    ...(task.expiresAtMs === undefined ? {} : { expires_at: iso(task.expiresAtMs) }),
    ...(detail.purgeAtMs === undefined ? {} : { purge_at: iso(detail.purgeAtMs) }),
    ...(retryOf === undefined ? {} : { retry_of: retryOf }),
    ...(retriedAs === undefined ? {} : { retried_as: retriedAs }),
    ...(workflowUrl === undefined ? {} : { workflow_url: workflowUrl }),
  }
}

function eventJson({ atMs, event, detail }: TimelineEvent) {
  return { at: iso(atMs), event, ...detail }
}

/** The first moment in full, the others as seconds after it. */
function timelineText(timeline: readonly TimelineEvent[]): string {
  const firstMs = timeline[0]?.atMs ?? 0
  return timeline
    .map(({ atMs, event, detail }) => {
      const after = `+${((atMs - firstMs) / 1000).toFixed(3)} s`.padStart(12)
      const known = Object.entries(detail).map(([name, value]) => `${name}=${value}`)
      return `${after}  ${event.padEnd(14)}  ${known.join('  ')}`.trimEnd()
    })
    .join('\n')
}
