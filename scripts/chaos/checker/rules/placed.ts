import { brief, type Evidence } from '../evidence.js';

/** Every memory landed in the space where the policy lets it, and whoever it is kept for is a user. */
export function* placed({ told, users }: Evidence): Iterable<string> {
  for (const { text, promised, space, landing, actor } of told) {
    if (promised === 'nothing') continue;
    if (space !== landing) yield `${brief(text)} was to land in ${landing} and landed in ${space}.`;
    if (actor !== null && !users.has(actor)) yield `${brief(text)} is of ${actor}, who is no user.`;
  }
}
