import type { Pool } from 'pg'
import type { TaskAdmin } from '../domain/taskAdmin.ts'
import { listTasks } from './listTasks.ts'
import { readTaskDetail } from './readTaskDetail.ts'
import { retryTask } from './retryTask.ts'

/** The operator's view of tasks, over one pool. */
export function createTaskAdmin(pool: Pool): TaskAdmin {
  return {
    listTasks: (filter) => listTasks(pool, filter),
    readDetail: (taskId) => readTaskDetail(pool, taskId),
    retryTask: (input) => retryTask(pool, input),
  }
}
