import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Temporal's native worker does not run in worker threads.
    pool: 'forks',
    globalSetup: ['test/support/stack/globalSetup.ts'],
    setupFiles: ['test/support/openapi/checkAnswers.ts'],
    // Tests mostly wait for Temporal, for upstreams and for processes to start, so more workers than cores pay.
    maxWorkers: 4,
    // PostgreSQL and Temporal are real and can be slow on a small machine.
    testTimeout: 45_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    restoreMocks: true,
  },
})
