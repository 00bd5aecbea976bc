// `npm run bench`, with `--growth` for the cost of growing tables.
if (process.argv.includes('--growth')) await import('./growth.ts')
else await import('./run.ts')
