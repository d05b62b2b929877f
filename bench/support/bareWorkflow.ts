import { proxyActivities } from '@temporalio/workflow'

const { nothing } = proxyActivities<{ readonly nothing: () => Promise<void> }>({
  startToCloseTimeout: '10 s',
})

/** The least a durable call costs: one workflow with one activity that does nothing. */
export async function bare(): Promise<void> {
  await nothing()
}
