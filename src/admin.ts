import { useCompileCache } from './wiring/compileCache.ts'

// The process `admin`. It turns on the compile cache first, so that the cache serves the imports below.
useCompileCache()

const { runProcess } = await import('./wiring/runProcess.ts')
const { startAdmin } = await import('./wiring/adminProcess.ts')

await runProcess('admin', startAdmin)
