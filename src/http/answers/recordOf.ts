import { usualDurationMs } from '../../domain/models/modelTable.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { chargedCredits } from '../../domain/tasks/task.ts'
import type { PublishedResult, TaskRecord } from '../../domain/tasks/taskRecord.ts'
import { publicStatus, taskRecord } from '../../domain/tasks/taskRecord.ts'
import { nativeByUrl } from '../../domain/upstream/nativeResponse.ts'
import { assetUrl } from '../assetUrl.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'

/** Returns the record of a task as clients see it, with its result if it has one. */
export function recordOf(parts: RecordParts, task: TaskView): TaskRecord {
  const usualMs = usualDurationMs(parts.config.models, task.model)
  return taskRecord(task, usualMs, publishedResult(parts, task))
}

type RecordParts = Pick<ApiParts, 'config' | 'signingKeys'>

function publishedResult(parts: RecordParts, task: TaskView): PublishedResult | undefined {
  const { asset, native } = task
  if (publicStatus(task) !== 'succeeded' || asset === undefined) return undefined
  const url = assetUrl(task, parts.config.publicUrl, parts.signingKeys)
  if (url === undefined) return undefined
  if (native === undefined) return { url }
  return {
    url,
    native: nativeByUrl(task.family, native, { url, mimeType: asset.mimeType }),
  }
}

/**
 * Sets `X-Credits-Charged`, which says what an ended task has cost. Sets nothing while the task is live,
 * because its cost is not known yet.
 */
export function setCreditsCharged(context: ApiContext, task: TaskView): void {
  const charged = chargedCredits(task)
  if (charged !== undefined) context.set('X-Credits-Charged', String(charged))
}
