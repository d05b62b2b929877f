import type { CliStreams } from '../cli/runCli.ts'
import { runCli } from '../cli/runCli.ts'
import type { CliService } from './cliService.ts'
import { createCliService } from './cliService.ts'

/** Runs one command and returns its exit code. */
export async function operate(args: readonly string[], streams: CliStreams): Promise<number> {
  let opened: CliService | undefined
  const service = () => (opened ??= createCliService())
  try {
    return await runCli(args, { service, operator: () => service().operator() }, streams)
  } finally {
    await opened?.close().catch(() => {})
  }
}
