import type { Service } from './start.ts'

type Announced = Pick<Service, 'apiUrl' | 'temporalUiUrl' | 'key' | 'keyPath'>

const body = JSON.stringify({
  model: 'familyb-image-2-vip',
  action: 'generate',
  prompt: 'A lighthouse at dusk',
  size: '1024x1024',
})

/**
 * What `npm start` says when it is ready: addresses, and lines to paste (design section 3). The key is
 * shown to a person only: what is not a terminal may be a log.
 */
export function announcement(service: Announced, toTerminal: boolean): string {
  const { apiUrl, temporalUiUrl, key, keyPath } = service
  const bearer = `-H "Authorization: Bearer $(cat '${keyPath}')"`
  return [
    `\nDarkroom is ready at ${apiUrl}`,
    ...(temporalUiUrl === undefined ? [] : [`Temporal UI:         ${temporalUiUrl}`]),
    ...(key === undefined
      ? []
      : [
          `Key of account demo: ${toTerminal ? key : `in ${keyPath}`}`,
          `\nTry it:\n\ncurl -s ${apiUrl}/v1/images/tasks ${bearer} \\`,
          `  -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s)" \\`,
          `  -d '${body}'`,
          `\nThen, with the task_id that it gave:\n\ncurl -s ${apiUrl}/v1/tasks/TASK_ID ${bearer}\n`,
        ]),
  ].join('\n')
}
