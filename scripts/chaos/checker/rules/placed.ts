import { brief, type Evidence } from '../evidence.js';

/** Every memory is in the space that the policy decided on, and its actor is a user. */
export function* placed({ clientRecords, users }: Evidence): Iterable<string> {
  for (const { text, promised, space, landing, actor } of clientRecords) {
    if (promised === 'nothing') continue;
    if (space !== landing) yield `${brief(text)} belongs in ${landing} but is in ${space}.`;
    if (actor !== null && !users.has(actor)) yield `${brief(text)} is of ${actor}, which is not a user.`;
  }
}
