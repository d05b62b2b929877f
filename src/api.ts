import { useCompileCache } from './wiring/compileCache.ts'

// The process `api`. The compile cache is on before the rest is imported.
useCompileCache()

const { runProcess } = await import('./wiring/runProcess.ts')
const { startApi } = await import('./wiring/api.ts')

await runProcess('api', startApi)
