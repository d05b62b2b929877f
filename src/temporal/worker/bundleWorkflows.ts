import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'

// Writes the workflow code as one script to stdout. `workflowBundle.ts` runs this file as a process of its own, so
// that the memory of the bundler (some 150 MiB) is free again when the script is made.

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../../../workflows/imageTask.ts', import.meta.url)),
  logger: new DefaultLogger('WARN'),
})
process.stdout.write(code)
