import type { Parts } from '../../src/cli/context.ts'

const opened = () => Promise.reject(new Error('a part was opened'))

/** Parts of the CLI that nobody may open: usage is judged before. */
export const closedParts: Parts = {
  migrate: opened,
  accounts: opened,
  issueKey: opened,
  verifyLedger: opened,
  tasks: opened,
  retryTask: opened,
  cancelTask: opened,
  capabilities: opened,
  channels: opened,
  assetUrl: opened,
  fetchHistory: opened,
  replayTask: opened,
  workflowUrl: opened,
}
