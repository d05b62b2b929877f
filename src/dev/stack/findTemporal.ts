import { buildGoTools } from './buildGoTools.ts'
import { downloadTemporalCli } from './downloadTemporalCli.ts'
import type { Environment } from './environment.ts'
import { runCommand } from './runCommand.ts'
import type { Say } from './say.ts'
import { startFailure } from './startFailure.ts'
import { temporalTools } from './temporalTools.ts'

/**
 * Temporal as this machine can have it: the real server, with its tools in `binDir`, or the command
 * line program `file`, whose development server does instead. `key` names the version of the server.
 */
export type TemporalPrograms =
  | { kind: 'server'; binDir: string; key: string }
  | { kind: 'dev-server'; file: string }

const versionTimeoutMs = 10_000

/**
 * Finds Temporal, in the order of design section 3: the real server built with Go; `temporal` on
 * PATH; the program that the SDK downloads. Says which it took. Throws one start failure that says
 * what to install when there is none.
 */
export const findTemporal = async (env: Environment, say: Say): Promise<TemporalPrograms> => {
  const built = await buildGoTools(temporalTools, { env, say })
  if (built.kind === 'built') {
    say('Temporal: the real server, on PostgreSQL.')
    return { kind: 'server', binDir: built.binDir, key: built.key }
  }
  const onPath = await runCommand('temporal', ['--version'], { env, timeoutMs: versionTimeoutMs })
  if (onPath.ok) {
    say(`Temporal: the development server of ${onPath.output} (on PATH), as ${built.why}.`)
    return { kind: 'dev-server', file: 'temporal' }
  }
  const downloaded = await downloadTemporalCli(env, say)
  if (downloaded.kind === 'file') {
    say(`Temporal: the development server that the SDK downloads, as ${built.why}.`)
    return { kind: 'dev-server', file: downloaded.file }
  }
  throw startFailure(
    [
      'There is no Temporal to run. One of these helps:',
      `  - install Go 1.21 or later, and the real server is built (now: ${built.why})`,
      '  - install the Temporal CLI, so that `temporal` is on PATH (now: it is not)',
      `  - let the machine download the CLI (now: ${downloaded.why})`,
      '  - set TEMPORAL_ADDRESS to a Temporal of yours',
    ].join('\n'),
  )
}
