/** A promise with the function that resolves it. */
export function hold() {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })

  return { held, release: () => release() }
}
