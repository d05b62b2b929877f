/**
 * Settings of the embedded PostgreSQL, as command line arguments.
 *
 * @param durable false only in tests: what a crash of the machine would lose is worth the speed.
 */
export const postgresSettings = (port: number, durable: boolean): string[] => {
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    // TCP only: a socket's path would have to be short, and reachable by whoever runs PostgreSQL.
    unix_socket_directories: '',
    // Temporal's four services, the API, the worker and an operator's tools together.
    max_connections: 200,
    shared_buffers: '256MB',
    // Fewer, larger checkpoints: image tasks write in bursts.
    max_wal_size: '2GB',
    checkpoint_timeout: '10min',
    jit: 'off',
    log_min_messages: 'warning',
    // A statement may carry a prompt, and prompts do not belong in logs.
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: 0,
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(durable
      ? { fsync: 'on', synchronous_commit: 'on' }
      : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
