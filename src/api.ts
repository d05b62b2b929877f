import { startApi } from './wiring/api.ts'
import { runProcess } from './wiring/runProcess.ts'

await runProcess('api', startApi)
