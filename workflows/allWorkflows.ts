/** The entry of the bundle that a worker runs: its exports are the workflow types. */
export { imageTask } from './imageTask.ts'
export { webhookRetries } from './webhookRetries.ts'
