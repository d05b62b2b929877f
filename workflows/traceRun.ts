import type { WorkflowInterceptors } from '@temporalio/workflow'
import { ApplicationFailure, isCancellation, proxySinks } from '@temporalio/workflow'
import type { RunSinks } from './contract.ts'

/**
 * Creates the interceptor that reports to the worker how a run ended, for the run's trace. The workflow
 * bundle contains this interceptor only while traces are on. The interceptor issues no command, so histories
 * are the same with and without it.
 */
export function interceptors(): WorkflowInterceptors {
  return {
    inbound: [
      {
        execute: async (input, next) => {
          const { run } = proxySinks<RunSinks>()
          try {
            const result = await next(input)
            run.ended(runOutcome(result), Date.now())
            return result
          } catch (error) {
            run.ended(runFailure(error), Date.now())
            throw error
          }
        },
      },
    ],
  }
}

function runOutcome(result: unknown): string {
  const outcome =
    typeof result === 'object' && result !== null && 'outcome' in result ? result.outcome : 'done'
  return String(outcome)
}

function runFailure(error: unknown): string {
  if (isCancellation(error)) return 'cancelled'
  return error instanceof ApplicationFailure ? (error.type ?? 'Error') : 'Error'
}
