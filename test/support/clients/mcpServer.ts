import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { CallToolResult, Progress } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { root } from '../sourceFiles.ts'
import { useFinished } from '../useFinished.ts'

const script = join(root, 'clients/typescript/src/mcp/main.ts')
const { PATH = '', HOME = '' } = process.env

type Environment = Readonly<Record<string, string>>

/** Which version of the protocol a client speaks: that of 2025, or the newest that the server has. */
type Era = 'legacy' | 'auto'

/** Gives the calling file MCP servers, with clients of the official package. All end after its last test. */
export function useMcp() {
  const finished = useFinished()

  async function connect(transport: Parameters<Client['connect']>[0], mode: Era, pid = () => 0) {
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(transport)
    finished(() => client.close())
    return {
      client,
      pid,
      call: async (
        name: string,
        given: Readonly<Record<string, unknown>> = {},
        options: { onprogress?: (progress: Progress) => void; signal?: AbortSignal } = {},
      ): Promise<Said> => saidBy(await client.callTool({ name, arguments: given }, options)),
    }
  }

  return {
    finished,
    /** Starts a server on standard input and output, with a client. */
    connectStdio: async (environment: Environment, mode: Era = 'auto') => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [script, 'mcp'],
        env: { PATH, HOME, ...environment },
        stderr: 'inherit',
      })
      return connect(transport, mode, () => transport.pid ?? 0)
    },
    /** Connects a client to a server over HTTP. */
    connectHttp: async (url: string, apiKey: string, mode: Era = 'auto') => {
      const requestInit = { headers: { authorization: `Bearer ${apiKey}` } }
      return connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }), mode)
    },
    /** Starts a server over HTTP on a free port, and returns its address. */
    startHttp: async (environment: Environment): Promise<string> => {
      const child = spawn(process.execPath, [script, 'mcp', '--http', '0'], {
        env: { PATH, HOME, ...environment },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      finished(() => void child.kill('SIGKILL'))
      const [line] = await once(createInterface(child.stderr), 'line')
      const [url = ''] = /http:\S+/.exec(String(line)) ?? []
      return url
    },
  }
}

/** What a tool answered, by its parts. */
export type Said = {
  readonly isError: boolean
  readonly text: string
  readonly link: string | undefined
  readonly preview: Buffer | undefined
  readonly fields: Readonly<Record<string, unknown>>
}

function saidBy({ content, isError, structuredContent }: CallToolResult): Said {
  const preview = content.find((each) => each.type === 'image')?.data
  return {
    isError: isError === true,
    text: content.flatMap((each) => (each.type === 'text' ? [each.text] : [])).join(),
    link: content.find((each) => each.type === 'resource_link')?.uri,
    preview: preview === undefined ? undefined : Buffer.from(preview, 'base64'),
    fields: Object(structuredContent),
  }
}
