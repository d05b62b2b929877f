import { useCompileCache } from './wiring/compileCache.ts'

// The process `api`. It turns on the compile cache first, so that the cache serves the imports below.
useCompileCache()

const { runProcess } = await import('./wiring/runProcess.ts')
const { startApi } = await import('./wiring/apiProcess.ts')

await runProcess('api', startApi)
