#!/usr/bin/env node
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { Darkroom } from '../darkroom.ts'
import { environmentVariable } from '../runtime.ts'
import { createMcpServer } from './createMcpServer.ts'
import { createPurchases, digestOf } from './purchases.ts'
import { serveMcpHttp } from './serveMcpHttp.ts'

// Standard output is the protocol: what is for people goes to standard error.

const usage = `Usage: darkroom-client mcp [--http PORT]

An MCP server, for agents that make images with Darkroom. Without --http it speaks over standard input and output.

  DARKROOM_URL             the address of the service
  DARKROOM_API_KEY         the key that pays; with --http each caller sends its own as bearer
  DARKROOM_OUTPUT_DIR      where images are written (only without --http)
  DARKROOM_STATE_DIR       where it keeps which call is which task (default: ~/.local/state/darkroom)
  DARKROOM_ANSWER_SECONDS  how long a call waits for its image (default: 25)
`

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}

const { values, positionals } = parseArgs({
  strict: false,
  options: { http: { type: 'string' } },
})
const { http, ...unknown } = values
if (positionals.join() !== 'mcp' || Object.keys(unknown).length > 0 || http === true) fail(usage)
const baseUrl = environmentVariable('DARKROOM_URL') ?? fail('Set DARKROOM_URL.')
const answerMs = Number(environmentVariable('DARKROOM_ANSWER_SECONDS') ?? '25') * 1_000
if (!(answerMs > 0)) fail('DARKROOM_ANSWER_SECONDS takes a number above 0.')
const stateHome = environmentVariable('XDG_STATE_HOME') ?? join(homedir(), '.local', 'state')
const stateDir = environmentVariable('DARKROOM_STATE_DIR') ?? join(stateHome, 'darkroom')
const purchases = createPurchases(stateDir)

/** The server of one caller. */
function serverFor(apiKey: string, isLocal: boolean) {
  return createMcpServer({
    darkroom: new Darkroom({ baseUrl, apiKey, timeoutMs: answerMs }),
    payer: digestOf([baseUrl, apiKey]),
    purchases,
    answerMs,
    outputDir: isLocal ? environmentVariable('DARKROOM_OUTPUT_DIR') : undefined,
    isLocal,
  })
}

if (http === undefined) {
  const apiKey = environmentVariable('DARKROOM_API_KEY') ?? fail('Set DARKROOM_API_KEY.')
  serveStdio(() => serverFor(apiKey, true), { onerror: ({ message }) => console.error(message) })
} else {
  const port = Number(http)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) fail('--http takes a port.')
  console.error(`MCP at ${await serveMcpHttp(port, (apiKey) => serverFor(apiKey, false))}`)
}
