import type { Environment } from './environment.ts'
import type { Say } from './say.ts'

/** How to start the embedded stack. */
export type StackOptions = {
  /** Absolute path of the folder that holds everything the stack keeps. */
  dataDir: string
  /** 0: any free port, the same again at the next start where possible. */
  ports: { postgres: number; temporal: number; temporalUi: number }
  /** Given: this PostgreSQL serves Darkroom, and none is started for it. */
  databaseUrl?: string | undefined
  /** Given: this Temporal is used, and none is started. */
  temporalAddress?: string | undefined
  /** The environment of the process: PATH, HOME and XDG_CACHE_HOME are used, the rest goes to Go. */
  env: Environment
  /** Told what happens, one line at a time. */
  say: Say
  /** Start Temporal's web interface. */
  withUi: boolean
  /** False only in tests: no fsync, and DATA_DIR is removed if this process is killed. */
  durable: boolean
}
