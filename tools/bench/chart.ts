interface Bar {
  label: string
  value: number
  /** Written beside the bar. */
  text: string
  /** The number of its colour, 0 to 3. */
  colour: number
}

interface Group {
  title: string
  bars: Bar[]
}

const width = 760
const labelWidth = 150
const barHeight = 18
const rowHeight = 22
const titleHeight = 34

/** A bar chart in SVG, readable on light and on dark ground; each group has a scale of its own. */
export function barChart(title: string, groups: Group[]): string {
  const lines: string[] = []
  let y = 30
  for (const group of groups) {
    lines.push(`<text class="group" x="0" y="${y + 22}">${escape(group.title)}</text>`)
    y += titleHeight
    const longest = Math.max(...group.bars.map(({ value }) => value))
    for (const { label, value, text, colour } of group.bars) {
      const length = Math.max(1, Math.round((value / longest) * (width - labelWidth - 150)))
      lines.push(
        `<text class="label" x="${labelWidth - 8}" y="${y + 14}">${escape(label)}</text>`,
        `<rect class="c${colour}" x="${labelWidth}" y="${y}" width="${length}" height="${barHeight}" rx="2"/>`,
        `<text x="${labelWidth + length + 6}" y="${y + 14}">${escape(text)}</text>`
      )
      y += rowHeight
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 10}" role="img" aria-label="${escape(title)}">
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.group { font-weight: 600 }
.label { text-anchor: end }
.c0 { fill: #1f7a4d } .c1 { fill: #8c959f } .c2 { fill: #2f6fbf } .c3 { fill: #b35900 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .c0 { fill: #3fb27f } .c1 { fill: #7d8590 } .c2 { fill: #5b9bf0 } .c3 { fill: #e08a3c }
}
</style>
<text class="title" x="0" y="18">${escape(title)}</text>
${lines.join('\n')}
</svg>
`
}

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
