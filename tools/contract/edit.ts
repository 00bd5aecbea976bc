import { Document, parse } from 'yaml'

/**
 * Changes by place, whose names are separated by spaces: `info version`. An
 * undefined value removes what is there.
 */
export type Edits = Record<string, unknown>

/** The text of a YAML document after the edits. */
export function edit(yaml: string, edits: Edits): string {
  // Without aliases, whose anchor an edit may remove.
  const options = { aliasDuplicateObjects: false }
  const document = new Document(parse(yaml), options)
  for (const [place, value] of Object.entries(edits)) {
    if (value === undefined) document.deleteIn(place.split(' '))
    else document.setIn(place.split(' '), document.createNode(value))
  }

  return document.toString()
}
