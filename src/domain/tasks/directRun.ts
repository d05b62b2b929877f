import type { Family } from '../models/models.ts'

/** A task that a worker may carry out without Temporal. */
export type DirectTask = { readonly taskId: string; readonly family: Family }

/**
 * What came of a task that a worker carried out without Temporal. `succeeded` and `failed`: it recorded the end. `over`:
 * the task had ended already. `no_slot`: this worker left the task to others. `wait` and `error`: the task goes on later.
 */
export const directResults = ['succeeded', 'failed', 'over', 'no_slot', 'wait', 'error'] as const
export type DirectResult = (typeof directResults)[number]
