/** The environment of the process, handed down so that only the entry point reads it. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The variables that any program needs; the rest of the environment stays with us. */
export const basicEnvironment = (env: Environment): Record<string, string> => {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ']
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
}
