import { Command } from 'commander'
import { accountCreate } from './accountCreate.ts'
import { accountList } from './accountList.ts'
import { accountShow } from './accountShow.ts'
import { accountTopup } from './accountTopup.ts'
import { channelList } from './channelList.ts'
import { channelPause } from './channelPause.ts'
import { channelResume } from './channelResume.ts'
import type { CliContext } from './context.ts'
import { keyCreate } from './keyCreate.ts'
import { keyList } from './keyList.ts'
import { keyRevoke } from './keyRevoke.ts'
import { group } from './leaf.ts'
import { ledgerVerify } from './ledgerVerify.ts'
import { migrate } from './migrate.ts'
import { taskCancel } from './taskCancel.ts'
import { taskHistory } from './taskHistory.ts'
import { taskList } from './taskList.ts'
import { taskReplay } from './taskReplay.ts'
import { taskRetry } from './taskRetry.ts'
import { taskShow } from './taskShow.ts'
import { version } from './version.ts'

const about = `
Finds the service by the environment (DATABASE_URL, …) or by what a running \`npm start\` left in
DATA_DIR/runtime.json. Exit codes: 0 done, 1 refused or found wrong, 2 wrong usage.`

/** Every command of the operator (design section 3). */
export function createProgram(context: CliContext): Command {
  return new Command('darkroom')
    .description('Operate a Darkroom: accounts, keys, the ledger, tasks and channels.')
    .version(version(), '--version', 'tell which version this is')
    .addHelpText('after', about)
    .addCommand(migrate(context))
    .addCommand(
      group('account', 'accounts and their credits', [
        accountCreate(context),
        accountTopup(context),
        accountShow(context),
        accountList(context),
      ]),
    )
    .addCommand(
      group('key', 'API keys', [keyCreate(context), keyList(context), keyRevoke(context)]),
    )
    .addCommand(group('ledger', 'the books', [ledgerVerify(context)]))
    .addCommand(
      group('task', 'tasks', [
        taskList(context),
        taskShow(context),
        taskHistory(context),
        taskReplay(context),
        taskRetry(context),
        taskCancel(context),
      ]),
    )
    .addCommand(
      group('channel', 'upstream channels', [
        channelList(context),
        channelPause(context),
        channelResume(context),
      ]),
    )
}
