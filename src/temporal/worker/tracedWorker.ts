import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker'
import { taskIdOf } from '../../domain/ids.ts'
import type { TaskTracer } from '../../domain/ports/taskTracer.ts'
import type { RunSinks } from '../../../workflows/contract.ts'

/** Options of a worker that tell a tracer of its activities and of the runs that end on it. */
export function tracedWorker(tracer: Pick<TaskTracer, 'activity' | 'runEnded'>) {
  return { interceptors: { activity: [tracedActivity(tracer)] }, sinks: runSinks(tracer) }
}

function tracedActivity(tracer: Pick<TaskTracer, 'activity'>): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const { workflowExecution: run, activityType: activity, attempt } = info
        if (run === undefined) return next(input)
        const { runId } = run
        const taskId = taskIdOf(run.workflowId)
        return tracer.activity({ taskId, runId, activity, attempt }, () => next(input))
      },
    },
  })
}

function runSinks(tracer: Pick<TaskTracer, 'runEnded'>): InjectedSinks<RunSinks> {
  return {
    run: {
      ended: {
        fn: ({ workflowId, runId, runStartTime }, outcome, endedAtMs) =>
          tracer.runEnded({
            taskId: taskIdOf(workflowId),
            runId,
            startedAtMs: runStartTime.getTime(),
            endedAtMs,
            outcome,
          }),
      },
    },
  }
}
