import { once } from 'node:events'
import { createApp } from '../http/app.ts'
import { createServer, listen } from '../http/connection/createServer.ts'
import type { ApiDeps } from '../http/context.ts'

type ApiServer = {
  readonly port: number
  /** Takes no new connection; requests under way finish, at most for `drainMs`. */
  readonly close: () => Promise<void>
}

/** Listens; rejects with the system's error when it cannot (a port in use). */
export async function startApiServer(
  deps: ApiDeps,
  options: { readonly host: string; readonly port: number; readonly drainMs: number },
): Promise<ApiServer> {
  const server = createServer(createApp(deps), deps)
  const port = await listen(server, options)
  return {
    port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      const timer = setTimeout(() => server.closeAllConnections(), options.drainMs)
      await closed
      clearTimeout(timer)
    },
  }
}
