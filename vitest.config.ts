import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longestFirst.ts'

/** These measure the CPU time of their own process, so no other file may have run in it. */
const measured = ['test/bytes/hostile.test.ts']

export default defineConfig({
  test: {
    // Temporal's native worker does not run in worker threads.
    pool: 'forks',
    globalSetup: ['test/support/stack/globalSetup.ts'],
    setupFiles: ['test/support/openapi/checkAnswers.ts'],
    // Tests mostly wait for Temporal, for upstreams and for processes to start. With four workers, two cores were idle for a
    // tenth of a run.
    maxWorkers: 5,
    // PostgreSQL and Temporal are real and can be slow on a small machine.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    teardownTimeout: 30_000,
    restoreMocks: true,
    // The processes of vitest, and those that they start, then load code in half the time.
    env: {
      NODE_COMPILE_CACHE: fileURLToPath(
        new URL('node_modules/.cache/darkroom/tests', import.meta.url),
      ),
    },
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'measured', include: measured } },
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...measured],
          // A process of its own for each file would spend a third of the CPU on loading the same code again.
          isolate: false,
        },
      },
    ],
  },
})
