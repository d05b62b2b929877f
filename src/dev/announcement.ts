import type { Service } from './start.ts'

const demoRequest = JSON.stringify({
  model: 'familyb-image-2-vip',
  action: 'generate',
  prompt: 'A lighthouse at dusk',
  size: '1024x1024',
})

/**
 * Returns what `npm start` prints when it is ready: the addresses, and commands to copy. The API key itself
 * is printed only on a terminal, because any other output may be kept as a log.
 */
export function announcement(
  service: Pick<Service, 'apiUrl' | 'publicPages' | 'temporalUiUrl' | 'key' | 'keyPath'>,
  toTerminal: boolean,
): string {
  const { apiUrl, publicPages, temporalUiUrl, key, keyPath } = service
  const bearer = `-H "Authorization: Bearer $(cat '${keyPath}')"`
  return [
    `\nDarkroom is ready at ${apiUrl}`,
    ...(temporalUiUrl === undefined ? [] : [`Temporal UI:         ${temporalUiUrl}`]),
    ...(key === undefined
      ? []
      : [
          `Key of account demo: ${toTerminal ? key : `in ${keyPath}`}`,
          publicPages
            ? `\nOpen ${apiUrl} in a browser and paste the key, or submit a task:\n`
            : '\nSubmit a task:\n',
          `curl -s ${apiUrl}/v1/images/tasks ${bearer} \\`,
          `  -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s)" \\`,
          `  -d '${demoRequest}'`,
          `\nThen, with the task_id of the answer:\n\ncurl -s ${apiUrl}/v1/tasks/TASK_ID ${bearer}\n`,
        ]),
  ].join('\n')
}
