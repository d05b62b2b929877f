/** The attacks of `hostileAccount.ts`, in the order in which `hostile.ts --each` tries them. */
export const hostileAttacks = [
  'large prompts',
  'many values',
  'white space',
  'bodies not sent',
  'images left',
  'slow readers',
  'invented keys',
] as const
export type HostileAttack = (typeof hostileAttacks)[number]
