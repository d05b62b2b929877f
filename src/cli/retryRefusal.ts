import { assertNever } from '../domain/assertNever.ts'
import type { RetryResult } from '../domain/ports/taskAdmin.ts'

/** Why a task was not retried, for the operator. */
export function whyNot(
  taskId: string,
  result: Exclude<RetryResult, { readonly kind: 'retried' }>,
): string {
  switch (result.kind) {
    case 'unknown':
      return `There is no task ${taskId}.`
    case 'not_failed':
      return `${taskId} is ${result.status}: only a failed task can be retried.`
    case 'already_retried':
      return `${taskId} was retried already, as ${result.taskId}.`
    case 'inputs_gone':
      return `${taskId} cannot be retried: its source images are no longer kept.`
    case 'insufficient':
      return `${taskId} is not retried: it costs ${result.credits} credits, more than the account has.`
    default:
      return assertNever(result)
  }
}
