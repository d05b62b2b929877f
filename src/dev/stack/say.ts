/** Tells the person at the terminal what the stack is doing, one line at a time. */
export type Say = (line: string) => void
