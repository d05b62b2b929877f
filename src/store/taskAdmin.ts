import type { Pool } from 'pg'
import type { TaskAdmin } from '../domain/ports/taskAdmin.ts'
import { listTasks } from './tasks/listTasks.ts'
import { readTaskDetail } from './tasks/readTaskDetail.ts'
import { retryTask } from './tasks/retryTask.ts'

/** The operator's view of tasks, over one pool. */
export function createTaskAdmin(pool: Pool): TaskAdmin {
  return {
    listTasks: (filter) => listTasks(pool, filter),
    readDetail: (taskId) => readTaskDetail(pool, taskId),
    retryTask: (input) => retryTask(pool, input),
  }
}
