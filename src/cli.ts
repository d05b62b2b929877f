import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/** `npx darkroom …`: one command of the operator (design section 3). */

// Halves the time to the first answer, from the second command on. In the checkout, where nobody else
// may write; where we may not either, Node goes without.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/darkroom-cli', import.meta.url)))

let answerLost = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `darkroom task list | head`: who reads no further has seen enough.
  if (error.code === 'EPIPE') return
  // A full disk, say. A key's secret is shown this once: nobody may take it for written.
  process.stderr.write(`The answer could not be written: ${error.message}\n`)
  answerLost = true
  process.exitCode = 1
})

// Only what is imported after the cache was enabled comes out of it.
const { operate } = await import('./wiring/cli.ts')

const exitCode = await operate(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
})
process.exitCode = answerLost && exitCode === 0 ? 1 : exitCode
