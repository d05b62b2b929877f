import { bundleWorkflowCode } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'

// Writes the workflow code as one script to stdout. `workflowBundle.ts` runs this file as a process of its own, so
// that the memory of the bundler (some 150 MiB) is free again when the script is made.

const pathOf = (file: string): string =>
  fileURLToPath(new URL(`../../../workflows/${file}`, import.meta.url))

const silent = () => {}
const { code } = await bundleWorkflowCode({
  workflowsPath: pathOf('imageTask.ts'),
  ...(process.argv.includes('--traced')
    ? { workflowInterceptorModules: [pathOf('traceRun.ts')] }
    : {}),
  logger: {
    log: silent,
    trace: silent,
    debug: silent,
    info: silent,
    warn: (message) => process.stderr.write(`${message}\n`),
    error: (message) => process.stderr.write(`${message}\n`),
  },
})
process.stdout.write(code)
