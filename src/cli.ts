import { useCompileCache } from './wiring/compileCache.ts'

// The process of `npx darkroom …`. It runs one command and exits.

useCompileCache()

let outputLost = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has closed the pipe, as in `darkroom task list | head`. That is not a failure.
  if (error.code === 'EPIPE') return
  // For example, the disk is full. `key create` shows a secret only once, so a lost answer must not look
  // like a success.
  process.stderr.write(`The output could not be written: ${error.message}\n`)
  outputLost = true
  process.exitCode = 1
})
// Nobody reads what is said about a command that runs. It goes on, because it may be changing many tasks.
process.stderr.on('error', () => {})

const { operate } = await import('./wiring/cliProcess.ts')

const exitCode = await operate(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
})
process.exitCode = outputLost && exitCode === 0 ? 1 : exitCode
