/**
 * Dynamic configuration of the embedded Temporal, the same for the real server and the development server.
 * Its keys are documented in Temporal's reference "Temporal Service dynamic configuration".
 */
const temporalSettings: Readonly<Record<string, boolean | number | string | readonly string[]>> = {
  // One partition gives the same rate on one machine, at less than half the p99 latency of four.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // The backlog of one account must not delay the tasks of another account.
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  'system.enableEagerWorkflowStart': true,
  // The defaults (10 visibility calls per second) are for shared clusters. Only Darkroom uses this server.
  'frontend.namespaceRPS.visibility': 500,
  'frontend.namespaceRPS': 20_000,
  'frontend.rps': 20_000,
  // Visibility records cost as much CPU as the rest of a run. Two workers write them after the run's own work.
  'history.visibilityProcessorSchedulerWorkerCount': 2,
  // The development server always opens its HTTP API. A page in a browser could reach it, so that it answers
  // only to a host name that does not exist (RFC 6761 section 6.4). The real server does not open the API.
  'frontend.httpAllowedHosts': ['none.invalid'],
  // A new search attribute or namespace is usable after one second.
  'system.namespaceCacheRefreshInterval': '1s',
}

/** The settings as the file that `DYNAMIC_CONFIG_FILE_PATH` names. JSON is valid YAML. */
export function dynamicConfigFile(): string {
  const entries = Object.entries(temporalSettings).map(([key, value]) => [key, [{ value }]])
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

/** The settings as arguments of `temporal server start-dev`. */
export function dynamicConfigArgs(): readonly string[] {
  return Object.entries(temporalSettings).flatMap(([key, value]) => [
    '--dynamic-config-value',
    `${key}=${JSON.stringify(value)}`,
  ])
}
