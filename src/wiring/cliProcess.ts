import type { CliService } from '../cli/cliContext.ts'
import type { CliStreams } from '../cli/runCli.ts'
import { runCli } from '../cli/runCli.ts'
import { inheritedEnvironment } from '../config/environment.ts'
import type { Installation } from '../config/runtimeFile.ts'
import { findInstallation } from '../config/runtimeFile.ts'
import { createCliService } from './cliService.ts'

/** Runs one command and returns its exit code. */
export async function operate(args: readonly string[], streams: CliStreams): Promise<number> {
  let opened: CliService | undefined
  let found: Installation | undefined
  const installation = () => (found ??= findInstallation(inheritedEnvironment()))
  const service = () => (opened ??= createCliService(installation().environment))
  try {
    return await runCli(args, { service, installation: () => installation().name }, streams)
  } finally {
    await opened?.close().catch(() => {})
  }
}
