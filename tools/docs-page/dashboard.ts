/// <reference lib="dom" />
// Draws docs/dashboard.png from what the queries of the dashboard returned
// during tools/deploy-check/calm.test.ts: `npm run dashboard --prefix
// tools/docs-page -- FILE`, with the file of its CALM_DATA. Grafana draws it in
// its own way.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { launchChromium } from './browser.ts'

/** Pixels of a row of Grafana's grid, which has 24 columns. */
const rowHeight = 30
const width = 1600

const style = `
  body {
    margin: 12px; display: grid; gap: 8px;
    grid-template-columns: repeat(24, 1fr); grid-auto-rows: ${rowHeight}px;
    font: 12px sans-serif; background: #f4f5f5; color: #24292e;
  }
  section { background: white; border: 1px solid #dcdee0; padding: 6px; overflow: hidden; }
  h1 { font-size: 16px; margin: 6px 0; }
  h2 { font-size: 13px; margin: 0 0 4px; }
  .u-legend { font-size: 10px; text-align: left; max-height: 48px; overflow: hidden; }
  .u-legend th { padding: 0 4px; }
`

/** From dashboard-charts.js, in the browser. */
declare function drawPanels(panels: unknown): void

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('Name the file of CALM_DATA')
const panels: unknown = JSON.parse(readFileSync(file, 'utf8'))

const library = path.join(import.meta.dirname, 'node_modules/uplot/dist')
const browser = await launchChromium()
const page = await browser.newPage({ viewport: { width, height: 800 } })
await page.setContent(`<style>${style}</style>`)
await page.addStyleTag({ path: path.join(library, 'uPlot.min.css') })
await page.addScriptTag({ path: path.join(library, 'uPlot.iife.min.js') })
await page.addScriptTag({
  path: path.join(import.meta.dirname, 'dashboard-charts.js')
})
await page.evaluate((all) => drawPanels(all), panels)
await page.screenshot({ path: 'docs/dashboard.png', fullPage: true })
await browser.close()
