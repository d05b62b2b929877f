import type { TaskStart } from '../domain/execution.ts'
import type { Route } from '../domain/imageRequest.ts'
import { isSyncRoute } from '../domain/imageRequest.ts'
import type { Action, Family, ImageSize, ModelId } from '../domain/models.ts'

export type TaskStartRow = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size: ImageSize | null
  readonly route: Route
  readonly keyDigest: string | null
}

export const taskStartColumns = `task_id as "taskId", account_id as "accountId", family, model, action,
  size, route, encode(key_digest, 'hex') as "keyDigest"`

/** What starting the task's workflow needs, as the row has it. */
export function taskStartOf(row: TaskStartRow): TaskStart {
  const { taskId, accountId, family, model, action, size, route, keyDigest } = row
  return {
    taskId,
    accountId,
    family,
    model,
    action,
    sync: isSyncRoute(route),
    ...(size === null ? {} : { size }),
    ...(keyDigest === null ? {} : { keyDigest }),
  }
}
