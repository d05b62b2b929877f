import type { Measured } from './benchCase.ts'

const rowPx = 26
const barPx = 320
const labelPx = 470
const headPx = 44

/**
 * Draws the figures that have a goal as bars in an SVG document. A bar that reaches the line has met its goal:
 * its length is the figure divided by the goal, or the goal divided by the figure where less is better.
 */
export function drawChart(figures: readonly Measured[]): string {
  const rows = figures.filter(({ goal }) => goal !== undefined)
  const height = headPx + rows.length * rowPx + 16
  const goalX = labelPx + barPx / 2
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="${height}" viewBox="0 0 960 ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    '<style>text{fill:#24292f}.dim{fill:#656d76}.met{fill:#2da44e}.missed{fill:#bf8700}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}}</style>',
    `<text class="dim" x="${goalX}" y="20" text-anchor="middle">goal</text>`,
    ...rows.map((row, n) => drawRow(row, headPx + n * rowPx)),
    `<line x1="${goalX}" x2="${goalX}" y1="28" y2="${height - 8}" stroke="#8d96a0" stroke-dasharray="3 3"/>`,
    '</svg>',
    '',
  ].join('\n')
}

function drawRow(row: Measured, y: number): string {
  const part = Math.min(2, goalRatio(row))
  const width = Math.max(2, (part * barPx) / 2).toFixed(0)
  const value = `${describe(row.median)} ${row.unit}`
  return [
    `<text x="8" y="${y + 13}">${escapeXml(`${row.case}: ${row.figure}`)}</text>`,
    `<rect class="${row.met === true ? 'met' : 'missed'}" x="${labelPx}" y="${y}" width="${width}" height="16" rx="3"/>`,
    `<text class="dim" x="${labelPx + barPx + 12}" y="${y + 13}">${escapeXml(value)}</text>`,
  ].join('')
}

/** The figure in parts of its goal: 1 or more when the goal is met. */
function goalRatio({ goal, median }: Measured): number {
  if (goal === undefined) return 1
  return 'atLeast' in goal ? median / goal.atLeast : goal.atMost / Math.max(median, 1e-9)
}

/** Writes a figure with three digits or more. */
export function describe(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
