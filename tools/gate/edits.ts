import type { Document } from 'yaml'

/** A place in a document: names of properties and places in arrays. */
export type Path = (string | number)[]

/** A change of a document, for tests of what notices it. */
export type Edit = (document: Document) => void

export const set =
  (at: Path, value: unknown): Edit =>
  (document) =>
    document.setIn(at, document.createNode(value))

export const del =
  (at: Path): Edit =>
  (document) =>
    void document.deleteIn(at)

export const all =
  (...edits: Edit[]): Edit =>
  (document) =>
    edits.forEach((edit) => edit(document))
