import { useCompileCache } from './wiring/compileCache.ts'

// The process `worker`. The compile cache is on before the rest is imported.
useCompileCache()

const { runProcess } = await import('./wiring/runProcess.ts')
const { startWorker } = await import('./wiring/worker.ts')

await runProcess('worker', startWorker)
