/**
 * Dynamic configuration of the embedded Temporal. The real server and the development server get the same
 * one. Temporal's reference "Temporal Service dynamic configuration" explains the keys.
 */
const temporalSettings: Readonly<Record<string, boolean | number | string | readonly string[]>> = {
  // On one machine, one partition gives the same rate as four, with less than half of their p99 latency.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // These two make accounts take turns, so that many tasks of one account do not delay another account.
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  'system.enableEagerWorkflowStart': true,
  // The default limits (10 visibility calls per second) are for clusters with many users. Only Darkroom uses
  // this server.
  'frontend.namespaceRPS.visibility': 500,
  'frontend.namespaceRPS': 20_000,
  'frontend.rps': 20_000,
  // Writing visibility records takes as much CPU as the rest of a run. Only two workers write them, so that
  // the run's own work goes first.
  'history.visibilityProcessorSchedulerWorkerCount': 2,
  // The development server always opens its HTTP API, and a page in a browser could reach it. With this, the
  // API answers only to a host name that does not exist (RFC 6761 section 6.4). The real server does not open
  // the API.
  'frontend.httpAllowedHosts': ['none.invalid'],
  // With this, a new search attribute or namespace can be used after one second.
  'system.namespaceCacheRefreshInterval': '1s',
}

/**
 * Returns the settings as the file that `DYNAMIC_CONFIG_FILE_PATH` names. The file is YAML, and JSON is valid
 * YAML.
 */
export function dynamicConfigFile(): string {
  const entries = Object.entries(temporalSettings).map(([key, value]) => [key, [{ value }]])
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

/** Returns the settings as arguments of `temporal server start-dev`. */
export function dynamicConfigArgs(): readonly string[] {
  return Object.entries(temporalSettings).flatMap(([key, value]) => [
    '--dynamic-config-value',
    `${key}=${JSON.stringify(value)}`,
  ])
}
