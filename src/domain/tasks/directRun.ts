import type { Served } from '../upstream/channel.ts'

/** A task that a worker may carry out without Temporal. `sync`: a client waits on an open connection. */
export type DirectTask = Served & { readonly taskId: string; readonly sync: boolean }

/**
 * What came of a task that a worker carried out without Temporal. `succeeded` and `failed`: it recorded the end. `over`:
 * the task had ended already. `wait` and `error`: the task goes on later, or in another worker.
 */
export const directResults = ['succeeded', 'failed', 'over', 'wait', 'error'] as const
export type DirectResult = (typeof directResults)[number]
