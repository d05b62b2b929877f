import { proxyActivities } from '@temporalio/workflow'

const { nothing } = proxyActivities<{ readonly nothing: () => Promise<void> }>({
  startToCloseTimeout: '10 s',
})

/** One workflow with one empty activity: the least that a durable call can cost. */
export async function bare(): Promise<void> {
  await nothing()
}
