import { once } from 'node:events'
import type { ApiDeps } from '../http/apiDeps.ts'
import { createApp } from '../http/createApp.ts'
import { createServer } from '../http/createServer.ts'

export type ApiServer = {
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
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      const timer = setTimeout(() => server.closeAllConnections(), options.drainMs)
      await closed
      clearTimeout(timer)
    },
  }
}
