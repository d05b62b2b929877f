import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Temporal's native worker does not live in worker threads.
    pool: 'forks',
    globalSetup: ['test/support/stack/globalSetup.ts'],
    // Tests wait more than they work: for Temporal, for upstreams, for processes to start.
    maxWorkers: 4,
    // Real PostgreSQL and real Temporal on a small machine: slow is not wrong.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    restoreMocks: true,
  },
})
