import type { CliStreams } from '../cli/runCli.ts'
import { runCli } from '../cli/runCli.ts'
import type { CliService } from './cliService.ts'

/** Runs one command and returns its exit code. Loads the service when the command first asks for it. */
export async function operate(args: readonly string[], streams: CliStreams): Promise<number> {
  let opened: Promise<CliService> | undefined
  const service = () =>
    (opened ??= import('./cliService.ts').then(({ createCliService }) => createCliService()))
  try {
    const operations = async () => (await service()).operations()
    return await runCli(args, { service, operations }, streams)
  } finally {
    await opened?.then(({ close }) => close()).catch(() => {})
  }
}
