/** Refused or unreachable: a sentence for the operator, exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** For account names that lead nowhere. */
export function noSuchAccount(name: string): Refusal {
  return new Refusal(`There is no account named ${JSON.stringify(name)}.`)
}

/** For task ids that lead nowhere: unknown or purged. */
export function noSuchTask(taskId: string): Refusal {
  return new Refusal(`There is no task ${taskId}.`)
}
