import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

const openFiles = new URL('../../src/telemetry/openFiles.ts', import.meta.url).href

/** Returns what a process with this limit for open files writes when it may need 1,000 of them. */
function warningOf(openFilesMax: number): string {
  const script = `import { warnOfOpenFiles } from '${openFiles}'
    warnOfOpenFiles({ warn: (line) => console.log(line) }, 1_000)`
  const limited = `ulimit -n ${openFilesMax}; exec "$0" --input-type=module -e "$1"`
  return execFileSync('sh', ['-c', limited, process.execPath, script], { encoding: 'utf8' })
}

describe('a process at its start', () => {
  it('says what to raise when it may open too few files, and to what', () => {
    expect(warningOf(999)).toMatch(/limit is 999,.*up to 1000 .*Raise it to 1000 .*ulimit -n/)
  })

  it('says nothing when they are enough', () => expect(warningOf(1_000)).toBe(''))
})
