import { runProcess } from './wiring/runProcess.ts'
import { startWorker } from './wiring/worker.ts'

await runProcess('worker', startWorker)
