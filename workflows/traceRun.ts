import type { WorkflowInterceptorsFactory } from '@temporalio/workflow'
import { ApplicationFailure, isCancellation, proxySinks } from '@temporalio/workflow'
import type { RunSinks } from './contract.ts'

/**
 * Tells the worker how a run ended, for its trace. In the bundle only while traces are on: it makes no
 * command, so histories with and without it are the same.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      execute: async (input, next) => {
        const { run } = proxySinks<RunSinks>()
        try {
          const result = await next(input)
          run.ended(outcomeOf(result), Date.now())
          return result
        } catch (error) {
          run.ended(failureOf(error), Date.now())
          throw error
        }
      },
    },
  ],
})

function outcomeOf(result: unknown): string {
  const outcome =
    typeof result === 'object' && result !== null && 'outcome' in result ? result.outcome : 'done'
  return String(outcome)
}

function failureOf(error: unknown): string {
  if (isCancellation(error)) return 'cancelled'
  return error instanceof ApplicationFailure ? (error.type ?? 'Error') : 'Error'
}
