import { useCompileCache } from './wiring/compileCache.ts'

// The process `worker`. It turns on the compile cache first, so that the cache serves the imports below.
useCompileCache()

const { runProcess } = await import('./wiring/runProcess.ts')
const { startWorker } = await import('./wiring/workerProcess.ts')

await runProcess('worker', startWorker)
