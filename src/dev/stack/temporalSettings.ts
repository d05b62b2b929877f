/**
 * Dynamic configuration of the embedded Temporal, the same for the real server and the development
 * server (design section 5 has the measurements).
 */
export const temporalSettings: Readonly<Record<string, boolean | number | string>> = {
  // One partition: the same rate here, and less than half the p99 latency of four.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // One account's backlog must not starve another's.
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  'system.enableEagerWorkflowStart': true,
  // The defaults (10 visibility calls a second) are for shared clusters; this one is ours alone.
  'frontend.namespaceRPS.visibility': 500,
  'frontend.namespaceRPS': 20_000,
  'frontend.rps': 20_000,
  // What lists are made of is written behind the work itself: it costs as much as all else in a run.
  'history.visibilityProcessorSchedulerWorkerCount': 2,
  // A search attribute or namespace just registered is known at once.
  'system.namespaceCacheRefreshInterval': '1s',
}

/** The settings as the file that `DYNAMIC_CONFIG_FILE_PATH` names. JSON is YAML. */
export const dynamicConfigFile = (): string => {
  const entries = Object.entries(temporalSettings).map(([key, value]) => [key, [{ value }]])
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

/** The settings as arguments of `temporal server start-dev`. */
export const dynamicConfigArgs = (): string[] =>
  Object.entries(temporalSettings).flatMap(([key, value]) => [
    '--dynamic-config-value',
    `${key}=${JSON.stringify(value)}`,
  ])
