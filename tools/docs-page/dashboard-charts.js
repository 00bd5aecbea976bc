// Draws the panels of the dashboard with uPlot, in the browser that
// dashboard.ts opens.
const colors = [
  '#3274d9',
  '#56a64b',
  '#e0b400',
  '#e02f44',
  '#a352cc',
  '#ff780a',
  '#37872d',
  '#6ed0e0',
  '#8f3bb8',
  '#1f60c4'
]

/** Seconds. */
const day = 86_400

const units = {
  s: (value) =>
    value < day ? `${value} s` : `${(value / day).toFixed(0)} days`,
  bytes: (value) => `${Math.round(value / 2 ** 20)} MiB`,
  percentunit: (value) => `${Number((value * 100).toFixed(3))} %`
}

/** Above this number of series, those that are always 0 are left out. */
const maxSeries = 10

function shownOf(series) {
  if (series.length <= maxSeries) return series
  return series.filter(({ values }) =>
    values.some(([, text]) => Number(text) !== 0)
  )
}

/** The values of each series at all times, with null where it has none. */
function aligned(series) {
  const all = series.flatMap(({ values }) => values.map(([time]) => time))
  const times = [...new Set(all)].sort((a, b) => a - b)

  const columns = series.map(({ values }) => {
    const byTime = new Map(values.map(([time, text]) => [time, Number(text)]))
    return times.map((time) => {
      const value = byTime.get(time) ?? NaN
      return Number.isFinite(value) ? value : null
    })
  })
  return [times, ...columns]
}

/** Hours and minutes, UTC. */
const timeOf = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 16)

function drawChart(element, { series: all, fieldConfig }) {
  const series = shownOf(all)
  const show = units[fieldConfig.defaults.unit] ?? String
  const lines = series.map(({ name }, index) => ({
    label: name,
    stroke: colors[index % colors.length],
    width: 1.5,
    points: { show: false }
  }))

  const options = {
    width: element.clientWidth - 12,
    height: element.clientHeight - 90,
    cursor: { show: false },
    scales: {
      y: { range: (_, min, max) => [Math.min(0, min), max * 1.05 || 1] }
    },
    axes: [
      { values: (_, ticks) => ticks.map(timeOf) },
      { size: 70, values: (_, ticks) => ticks.map(show) }
    ],
    legend: { live: false },
    series: [{}, ...lines]
  }
  new uPlot(options, aligned(series), element)
}

function drawPanel(panel) {
  const { x, y, w, h } = panel.gridPos
  const isHeading = panel.type === 'row'
  const element = document.createElement(isHeading ? 'header' : 'section')
  element.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`

  const title = document.createElement(isHeading ? 'h1' : 'h2')
  title.textContent = panel.title
  element.append(title)
  document.body.append(element)
  if (!isHeading) drawChart(element, panel)
}

globalThis.drawPanels = (panels) => {
  for (const panel of panels) drawPanel(panel)
}
